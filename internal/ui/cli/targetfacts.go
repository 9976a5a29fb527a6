package cli

import (
	"context"

	"github.com/zclconf/go-cty/cty"
)

// TimeZoneOfTarget returns the time zone of the target for its windows, or "" if it is unknown.
func (s *Session) TimeZoneOfTarget(ctx context.Context) (string, error) {
	facts, err := s.facts(ctx)
	zone, known := facts["timezone"]
	if err != nil || !known || zone.IsNull() || zone.Type() != cty.String {
		return "", err
	}
	return zone.AsString(), nil
}
