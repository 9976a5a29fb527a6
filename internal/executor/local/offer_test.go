package local_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
)

// TestPlanAsksApt: an unknown package or version is an error of the plan, unless an earlier
// step changes what apt offers, or apt has no lists. Otherwise the plan shows what comes.
func TestPlanAsksApt(t *testing.T) {
	for name, c := range map[string]struct{ list, shown, refused string }{
		"a candidate":        {list: "PKG app", shown: "version 1; with it apt installs 1 dependency"},
		"a version":          {list: "PKG grow version=1", shown: "version 1"},
		"an unknown package": {list: "PKG ngnix", refused: `apt knows no package "ngnix"`},
		"an unknown version": {list: "PKG app version=9", refused: `apt knows no package "app" 9`},
		"a source before": {list: "MKDIR /etc/apt; COPY 1 /etc/apt/x.list; PKG ngnix",
			shown: "known after apply: file:/etc/apt/x.list may change the versions in apt"},
		"a source after": {list: "PKG ngnix; MKDIR /etc/apt; COPY 1 /etc/apt/x.list",
			refused: `apt knows no package "ngnix"`},
		"a command that fetches": {list: "EXEC u -- apt-get update; PKG ngnix",
			shown: "known after apply: exec:u may change the versions in apt"},
		"another file before":     {list: "MKDIR /t; COPY 1 /t/a; PKG ngnix", refused: `apt knows no package "ngnix"`},
		"an absent unknown one":   {list: "PKG ngnix ensure=absent", shown: ""},
		"two, and one is unknown": {list: "PKG app; PKG ngnix", refused: `apt knows no package "ngnix"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAlong(t)
			w.mkdirs("/etc")
			p, err := w.x.Plan(context.Background(), request(t, steps(c.list)))
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("error %v, want %q", err, c.refused)
				}
				return
			}
			w.must(err)
			var notes []string
			for _, c := range p.Changes {
				notes = append(notes, c.Note)
			}
			if got := strings.Join(notes, " "); !strings.Contains(got, c.shown) {
				t.Errorf("the plan says %q, want %q", got, c.shown)
			}
		})
	}
}

// TestNoLists: a fresh host has no package lists, so nothing is known and nothing refused.
func TestNoLists(t *testing.T) {
	w := newWorld(t)
	repo := w.aside.(*mem.Host).Repository()
	repo.Withdraw("p1", "1")
	repo.Withdraw("p1", "2")
	repo.Withdraw("p2", "1")
	repo.Withdraw("p2", "2")
	p, err := w.x.Plan(context.Background(), request(t, "PKG p1\n"))
	w.must(err)
	if got := p.Changes[0].Note; !strings.Contains(got, "no package lists") {
		t.Errorf("note %q", got)
	}
}
