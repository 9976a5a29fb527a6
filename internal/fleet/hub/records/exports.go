package records

import (
	"encoding/json"

	"fettle.dev/fettle/internal/exported"
)

// Exports contains the exported values of a target in the store.
type Exports struct {
	Values []exported.Own `json:"values"`
	Since  int64          `json:"since"` // ns since 1970
}

// ParseExports decodes exported values. It refuses invalid ones.
func ParseExports(b []byte) (Exports, error) {
	var r Exports
	if err := json.Unmarshal(b, &r); err != nil {
		return r, err
	}
	return r, exported.CheckOwn(r.Values)
}
