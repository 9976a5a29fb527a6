package repo_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

// Fetch fetches branches, tags, full names of other refs and hashes, and nothing else. A commit that the mirror has
// needs no remote.
func TestFetchOne(t *testing.T) {
	g := newGit(t)
	g.write("fettle.hcl", "one\n")
	first := g.commit("first")
	g.git("branch", "other/main")
	g.git("update-ref", "refs/pull/12/head", first)
	g.write("fettle.hcl", "two\n")
	second := g.commit("second")
	g.git("tag", "-a", "-m", "it", "v2")
	m := mirrorOf(t, g, repo.MirrorLimits{})
	for name, want := range map[string]string{"main": second, "refs/heads/main": second, "v2": second, "other/main": first,
		"refs/pull/12/head": first, second: second} {
		if got, err := m.Fetch(t.Context(), name); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"12/head": "there is no such branch or tag",
		"refs/pull/*/head": "cannot contain",
		"":                 "it is empty", "--all": "begins with '-'", strings.Repeat("a", 40): "cannot fetch"} {
		if got, err := m.Fetch(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	if n, err := m.Kept(t.Context()); err != nil || n != 2 {
		t.Errorf("%d commits, %v", n, err)
	}
	away, err := repo.OpenMirror(t.Context(), m.Dir(), remoteOf(t, "file:///nowhere"), repo.MirrorLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := away.Fetch(t.Context(), first); err != nil || got != first {
		t.Errorf("a known commit without the remote: %s, %v", got, err)
	}
	if _, err := away.Fetch(t.Context(), "main"); err == nil {
		t.Error("a branch without the remote")
	}
	small := mirrorOf(t, g, repo.MirrorLimits{Size: 1})
	if _, err := small.Fetch(t.Context(), "main"); !repo.IsLarge(err) {
		t.Errorf("a mirror of at most one byte: %v", err)
	}
}
