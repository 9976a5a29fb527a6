package repo_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

func identity(t *testing.T, r *repo.Repo, commit, directory string) repo.Identity {
	t.Helper()
	id, err := r.Identity(context.Background(), commit, directory)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestIdentity: clones, branches and moved repositories have the root commit in common; a
// shallow clone and a plain directory have none.
func TestIdentity(t *testing.T) {
	g, first, second := twoCommits(t)
	own := identity(t, g.open(), second, ".")
	if own.Root != first || own.Dir != g.dir || own.Directory != "" {
		t.Fatalf("%+v", own)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	g.git("clone", "-q", "--bare", g.dir, clone)
	if id := identity(t, open(t, clone), first, "."); id.Compare(own) != repo.Same || id.Dir != "" {
		t.Errorf("%+v", id)
	}
	if id := identity(t, g.open(), second, "sub"); id.Compare(own) != repo.Other || id.Directory != "sub" {
		t.Errorf("%+v", id)
	}
	other := newGit(t)
	other.write("other", "x")
	if id := identity(t, other.open(), other.commit("other"), "."); id.Compare(own) != repo.Other {
		t.Errorf("%+v", id)
	}
	shallow := filepath.Join(t.TempDir(), "shallow")
	g.git("clone", "-q", "--depth=1", "file://"+g.dir, shallow)
	if id := identity(t, open(t, shallow), second, "."); id.Root != "" || id.Compare(own) != repo.Unknown {
		t.Errorf("%+v", id)
	}
	plain := t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "a"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if id := identity(t, open(t, plain), "", "."); id != (repo.Identity{Dir: plain}) {
		t.Errorf("%+v", id)
	}
}

func TestCompareIdentities(t *testing.T) {
	for _, c := range []struct {
		a, b repo.Identity
		want repo.Likeness
	}{
		{repo.Identity{}, repo.Identity{}, repo.Unknown},
		{repo.Identity{Name: "a", Root: "1"}, repo.Identity{Name: "a", Root: "2"}, repo.Same},
		{repo.Identity{Name: "a", Root: "1"}, repo.Identity{Name: "b", Root: "1"}, repo.Other},
		{repo.Identity{Name: "a", Root: "1"}, repo.Identity{Root: "1"}, repo.Same},
		{repo.Identity{Root: "1", Dir: "/a"}, repo.Identity{Root: "1", Dir: "/b"}, repo.Same},
		{repo.Identity{Root: "1", Dir: "/a"}, repo.Identity{Root: "2", Dir: "/a"}, repo.Other},
		{repo.Identity{Dir: "/a"}, repo.Identity{Dir: "/a"}, repo.Same},
		{repo.Identity{Dir: "/a"}, repo.Identity{Dir: "/b"}, repo.Other},
		{repo.Identity{Root: "1", Dir: "/a"}, repo.Identity{Dir: "/b"}, repo.Unknown},
		{repo.Identity{Root: "1"}, repo.Identity{Fleet: "f"}, repo.Unknown},
		{repo.Identity{Root: "1", Fleet: "f"}, repo.Identity{Fleet: "f"}, repo.Same},
		{repo.Identity{Fleet: "g"}, repo.Identity{Fleet: "f"}, repo.Unknown},
	} {
		if got, back := c.a.Compare(c.b), c.b.Compare(c.a); got != c.want || back != c.want {
			t.Errorf("%v and %v: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
