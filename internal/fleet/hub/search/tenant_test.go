package search

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestSearchOfOrganizations: users of an organization do not find targets, modules, states and commits of others, and
// no rollouts, which belong to the whole fleet.
func TestSearchOfOrganizations(t *testing.T) {
	w := newWorld(t)
	w.assign(1, 1, w.pack("a", map[string]string{"fettle.hcl": top, "modules/web/module.hcl": "package \"nginx\" {}\n"}))
	for of, want := range map[fleet.Organization]bool{"": true, "acme": false} {
		c := api.Caller{Now: w.now}
		c.Organization = of
		for _, text := range []string{"web", "serve nginx", "serve a", "nginx"} {
			d, err := w.Search(fleet.WithOrganization(t.Context(), of), c, route.SearchQuery{Text: text}, route.None{})
			if err != nil || d.Empty() == want {
				t.Errorf("%q finds %s: %s, %v", of, text, fmt.Sprintf("%+v", d), err)
			}
		}
	}
}
