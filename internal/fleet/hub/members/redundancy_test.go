package members

import (
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// The message about missing hubs names them, and describes the present abilities and the effect of
// another failure.
func TestLostRedundancy(t *testing.T) {
	const continues = "nothing can be changed, and agents continue with their assignments"
	for _, c := range []struct {
		here  string // a hub for each letter: present, absent, or without all data
		spare int
		want  string
	}{
		{"p", 0, ""},
		{"ppp", 1, ""},
		{"ppa", 0, "h2 is not connected. Everything works. If another hub fails, " + continues},
		{"ppi", 0, "h2 does not have all data. Everything works. If another hub fails, " + continues},
		{"ppppa", 1, "h4 is not connected. Everything works, also if one more hub fails"},
		{"ppppppa", 2, "h6 is not connected. Everything works, also if 2 more hubs fail"},
		{"paa", 0, "h1 is not connected, h2 is not connected. Until more hubs are back, " + continues},
		{"pa", 0, "h1 is not connected. Until more hubs are back, " + continues},
	} {
		p := document.HubPage{ToleratedFailures: c.spare, Complete: true}
		for i, is := range c.here {
			p.Hubs = append(p.Hubs, document.HubMember{Name: "h" + string(rune('0'+i)), Reachable: is != 'a',
				Current: is == 'p'})
		}
		if got := LostRedundancy(p); got != c.want {
			t.Errorf("%s: %q instead of %q", c.here, got, c.want)
		}
	}
}
