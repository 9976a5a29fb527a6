package hubclient

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/ui/cli"
)

// LabelRequest reads KEY=VALUE, which sets a label, and KEY-, which removes it. Without words, it returns an error.
func LabelRequest(words []string) (document.LabelRequest, error) {
	r := document.LabelRequest{Set: map[string]string{}}
	for _, w := range words {
		key, value, set := strings.Cut(w, "=")
		gone, removed := strings.CutSuffix(w, "-")
		switch {
		case set && key != "":
			r.Set[key] = value
		case removed && gone != "":
			r.Remove = append(r.Remove, gone)
		default:
			return r, cli.Refuse("Write KEY=VALUE, or KEY- to remove one", fmt.Sprintf("cannot read %.80q as a label", w))
		}
	}
	if len(words) == 0 {
		return r, cli.Refuse("Write KEY=VALUE, or KEY- to remove one", "cannot set labels: none is given")
	}
	return r, nil
}
