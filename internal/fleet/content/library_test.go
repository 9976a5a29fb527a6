package content_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// assignment of some parts of a commit.
func assignment(parts []fleet.Assigned) fleet.Assignment {
	return fleet.Assignment{Name: "web1", Labels: map[string]string{"env": "prod"}, Top: parts[0], Modules: parts[1:]}
}

func library(t testing.TB, files host.FS, signers *content.Signers, limit int64, base string) *content.Library {
	t.Helper()
	s, err := content.OpenStore(files, "/content", limit)
	if err != nil {
		t.Fatal(err)
	}
	return &content.Library{Store: s, Fetcher: fetcher(s, base), Signers: signers, Now: func() int64 { return now }}
}

// TestLibrary: from an assignment to a tree, without a hub afterwards, and never back to
// an older commit, also after a restart.
func TestLibrary(t *testing.T) {
	g := site(t)
	var line string
	g.key, line = newKey(t, "ed25519")
	believed := signers(t, line)
	old := g.pack(g.commit("old"))
	g.write("modules/web/module.hcl", "# newer\n")
	newer := g.pack(g.commit("new"))
	g.key = ""
	unsigned := g.pack(g.commit("unsigned"))
	served := map[string]*content.Server{}
	for name, p := range map[string]packed{"old": old, "new": newer, "unsigned": unsigned} {
		served[name] = &content.Server{Store: p.store, May: everything}
	}
	var from string
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from == "" {
			http.Error(w, "no hub", http.StatusServiceUnavailable)
			return
		}
		served[from].ServeHTTP(w, r)
	}))
	files := mem.NewFS(mem.Options{})
	l := library(t, files, &believed, 0, base)
	for _, step := range []struct {
		from string
		p    packed
		want string
	}{{"unsigned", unsigned, "is not signed"}, {"old", old, ""}, {"new", newer, ""}, {"old", old, "needs a permit"}} {
		from = step.from
		err := l.Fetch(t.Context(), assignment(step.p.parts))
		if step.want == "" && err != nil {
			t.Fatal(err)
		} else if step.want != "" {
			if wantErr(t, err, step.want); !errors.Is(err, content.ErrRefused) {
				t.Error("what may never be used is tried again")
			}
		}
	}
	from = ""
	for range 2 {
		if err := l.Fetch(t.Context(), assignment(newer.parts)); err != nil {
			t.Errorf("what is there needs a hub: %v", err)
		}
		tree, end, err := l.Tree(assignment(newer.parts), []string{"modules/db"})
		if err != nil {
			t.Fatal(err)
		}
		if !has(tree, "modules/web/module.hcl") || has(tree, "modules/db") || !has(tree, fleet.EnrolledFile) {
			t.Error("the tree is another")
		}
		if err := end(); err != nil {
			t.Error(err)
		}
		if _, _, err := l.Tree(assignment(old.parts), nil); !errors.Is(err, content.ErrRefused) {
			t.Errorf("an older commit makes a tree: %v", err)
		}
		l = library(t, files, &believed, 0, base)
	}
	a := assignment(newer.parts)
	a.Top.Proof = nil
	wantErr(t, l.Fetch(t.Context(), a), "no proof")
	if err := library(t, mem.NewFS(mem.Options{}), nil, 0, base).Fetch(t.Context(), a); err == nil || errors.Is(err, content.ErrRefused) {
		t.Errorf("a hub that is not there is taken for a lie: %v", err)
	}
}

// TestLibraryMakesRoom: what nobody needs gives way, and nothing else does.
func TestLibraryMakesRoom(t *testing.T) {
	hub := memStore(t, 0)
	base := serve(t, &content.Server{Store: hub, May: everything})
	part := func(text string) fleet.Assigned {
		return fleet.Assigned{Revision: fleet.Revision{Commit: strings.Repeat("a", 40)}, Bundle: mustAdd(t, hub, text)}
	}
	first, second := part(string(raw(file("a", strings.Repeat("1", 500))))), part(string(raw(file("a", strings.Repeat("2", 500)))))
	l := library(t, mem.NewFS(mem.Options{}), nil, 800, base)
	if err := l.Fetch(t.Context(), fleet.Assignment{Top: first}); err != nil {
		t.Fatal(err)
	}
	if err := l.Fetch(t.Context(), fleet.Assignment{Top: second}); !errors.Is(err, content.ErrFull) {
		t.Errorf("nobody said what may go: %v", err)
	}
	if err := l.Retain([]string{first.Bundle.Digest}); err != nil {
		t.Fatal(err)
	}
	if err := l.Fetch(t.Context(), fleet.Assignment{Top: second}); !errors.Is(err, content.ErrFull) || !l.Store.Has(first.Bundle) {
		t.Errorf("what is needed gave way: %v", err)
	}
	if err := l.Retain(nil); err != nil {
		t.Fatal(err)
	}
	if err := l.Fetch(t.Context(), fleet.Assignment{Top: second}); err != nil || l.Store.Has(first.Bundle) {
		t.Error(err)
	}
}
