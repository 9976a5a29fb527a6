package plan

import (
	"iter"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// TestExposed: the path /d/link/f leads through a link in /d, whose owner changes in the same run.
func TestExposed(t *testing.T) {
	for what, c := range map[string]struct {
		from, to uint32
		action   Action
		dir      string
		want     string
	}{
		"another user gets the directory":      {0, 33, Update, "/d", `cannot use "/d/link/f": this run gives`},
		"the directory returns to its user":    {0, 33, Restore, "/d", `who could then replace the symbolic link "/d/link"`},
		"root gets the directory":              {33, 0, Update, "/d", ""},
		"the owner stays":                      {33, 33, Update, "/d", ""},
		"the difference is only reported":      {0, 33, Drift, "/d", ""},
		"a directory without a link of a path": {0, 33, Update, "/d/link", ""},
	} {
		m := planner("RM /d/link/f", "RM /other")
		m.in.Rules = fixed{}
		m.in.LinksAbove = func(file string) iter.Seq2[string, string] {
			return func(yield func(string, string) bool) {
				if file == "/d/link/f" {
					yield("/d/link", "/d")
				}
			}
		}
		m.p.Changes = []Change{{Action: c.action, Addr: addr.File(c.dir), From: ownedBy(c.from), To: ownedBy(c.to)}}
		m.refusals.exposed()
		err := m.refusals.problems.Err()
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func ownedBy(uid uint32) *image.Image {
	return new(image.Of(&image.File{Type: image.Directory, UID: uid}))
}
