package repo_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/repo"
)

func mirrorOf(t *testing.T, g *gitRepo, limits repo.MirrorLimits) *repo.Mirror {
	t.Helper()
	m, err := repo.OpenMirror(t.Context(), filepath.Join(t.TempDir(), "mirrors", "m"), remoteOf(t, "file://"+g.dir),
		limits)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func remoteOf(t *testing.T, source string) repo.Remote {
	t.Helper()
	remote, err := repo.OpenRemote(source)
	if err == nil {
		remote, err = remote.With(repo.Access{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return remote
}

// TestMirror follows a branch, a tag, a commit and the present of a repository in both
// formats of objects, and has their trees.
func TestMirror(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		g := newGit(t, "--object-format="+format)
		g.write("fettle.hcl", "one\n")
		first := g.commit("first")
		g.git("tag", "-a", "-m", "t", "v1")
		g.write("fettle.hcl", "two\n")
		second := g.commit("second")
		m := mirrorOf(t, g, repo.MirrorLimits{})
		wanted := []string{"", "main", "v1", "refs/heads/main", first}
		got, err := m.Update(t.Context(), wanted)
		if err != nil || got[""] != second || got["main"] != second || got["v1"] != first ||
			got["refs/heads/main"] != second || got[first] != first {
			t.Fatalf("%s: %v, %v", format, got, err)
		}
		if tree, rev := at(t, open(t, m.Dir()), got["v1"]); show(t, tree) != "fettle.hcl \"one\\n\"\n" ||
			rev.Commit != first {
			t.Errorf("%s: the mirror has %s at %s", format, show(t, tree), rev.Commit)
		}
		third := g.commit("third")
		if got, err = m.Update(t.Context(), []string{"main", "gone"}); got["main"] != third {
			t.Errorf("%s: %v", format, got)
		}
		wantErr(t, err, `cannot follow "gone"`, "there is no such branch or tag")
		if got, err := m.Known(t.Context(), append(wanted, "gone")); err != nil || got["main"] != third ||
			got["v1"] != first || got["gone"] != "" || len(got) != 5 {
			t.Errorf("%s: known is %v, %v", format, got, err)
		}
		if err := m.Tidy(t.Context(), func(c string) bool { return c == third }); err != nil {
			t.Fatal(err)
		}
		if _, _, err := open(t, m.Dir()).At(t.Context(), first); err == nil {
			t.Errorf("%s: a commit that nobody keeps is still there", format)
		}
		if tree, _ := at(t, open(t, m.Dir()), third); show(t, tree) == "" {
			t.Errorf("%s: a commit that is kept has no files", format)
		}
	}
}

// TestMirrorKeepsWhatItKnew: a source that is missing, inconsistent or too large is an error, and
// earlier results remain.
func TestMirrorKeepsWhatItKnew(t *testing.T) {
	g, _, second := twoCommits(t)
	m := mirrorOf(t, g, repo.MirrorLimits{})
	if _, err := m.Update(t.Context(), []string{"main"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(g.dir, g.dir+"x"); err != nil {
		t.Fatal(err)
	}
	_, err := m.Update(t.Context(), []string{"main"})
	wantErr(t, err, "cannot list the branches")
	if got, err := m.Known(t.Context(), []string{"main"}); err != nil || got["main"] != second {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(m.Dir(), "fettle.hcl")); err == nil {
		t.Error("a mirror has files of the repository")
	}
	if _, err := repo.OpenMirror(t.Context(), m.Dir(), remoteOf(t, "file:///nowhere"), repo.MirrorLimits{}); err != nil {
		t.Errorf("a mirror that is there needs its source to be opened: %v", err)
	}
	if _, err := repo.OpenMirror(t.Context(), filepath.Dir(m.Dir()), remoteOf(t, "file:///nowhere"),
		repo.MirrorLimits{}); err == nil {
		t.Error("a directory of somebody else's becomes a mirror")
	}
}

// TestMirrorAfterAKill opens a mirror again after git was killed while it made the first one. The
// git of the test leaves a part of a repository and ends itself with SIGKILL.
func TestMirrorAfterAKill(t *testing.T) {
	g := newGit(t)
	g.write("fettle.hcl", "one\n")
	first := g.commit("first")
	source, dir := "file://"+g.dir, filepath.Join(t.TempDir(), "m")
	_, err := repo.OpenMirror(t.Context(), dir, remoteThatDies(t, source), repo.MirrorLimits{})
	wantErr(t, err, "cannot create a mirror")
	m, err := repo.OpenMirror(t.Context(), dir, remoteOf(t, source), repo.MirrorLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := m.Update(t.Context(), []string{"main"}); err != nil || got["main"] != first {
		t.Errorf("%v, %v", got, err)
	}
	if list, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(list) != 1 {
		t.Errorf("beside the mirror: %v, %v", list, err)
	}
}

// remoteThatDies returns a remote with a git that is killed in the middle of its init.
func remoteThatDies(t *testing.T, source string) repo.Remote {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\nfor last; do :; done\ncase \" $* \" in\n*\" init \"*) mkdir -p \"$last\"; echo >\"$last/config\"; kill -9 $$;;\nesac\nexec " + git + " \"$@\"\n"
	bin, old := t.TempDir(), os.Getenv("PATH")
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+old)
	remote := remoteOf(t, source)
	t.Setenv("PATH", old)
	return remote
}

func TestMirrorLimits(t *testing.T) {
	g := newGit(t)
	big := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(big); i++ { // nothing that compresses
		x = x*1664525 + 1013904223
		big[i] = byte(x >> 24)
	}
	g.write("big", string(big))
	g.commit("big")
	_, err := mirrorOf(t, g, repo.MirrorLimits{Size: 1 << 20}).Update(t.Context(), []string{"main"})
	wantErr(t, err, `cannot follow "main"`, "it is larger than the limit")
	g.git("tag", "a")
	_, err = mirrorOf(t, g, repo.MirrorLimits{Refs: 1}).Update(t.Context(), []string{"main"})
	wantErr(t, err, "more than 1 branches and tags")
	_, err = mirrorOf(t, g, repo.MirrorLimits{Timeout: time.Nanosecond}).Update(t.Context(), []string{"main"})
	wantErr(t, err, "took longer than 1ns")
}

// TestMirrorRunsNothing: neither the other side's configuration nor names that git takes
// for options or programs do anything.
func TestMirrorRunsNothing(t *testing.T) {
	g, _, _ := twoCommits(t)
	m := mirrorOf(t, g, repo.MirrorLimits{})
	for _, name := range []string{"--upload-pack=touch x", "-c", "main:refs/heads/x", "../x", "main\nx", "+main", "ma*"} {
		got, err := m.Update(t.Context(), []string{name})
		if err == nil || len(got) > 0 {
			t.Errorf("%q is followed to %v", name, got)
		}
	}
	for _, a := range []repo.Access{{Key: "/k"}, {KnownHosts: "/k"}, {Key: "/k$(id)", KnownHosts: "/h"},
		{Key: "k", KnownHosts: "/h"}, {Credentials: "/a b"}, {Authority: "/../x"}} {
		r, err := repo.OpenRemote("ssh://git@host/r")
		if err == nil {
			_, err = r.With(a)
		}
		wantErr(t, err, "cannot use")
	}
	for _, source := range []string{"ext::sh -c id", "-x", "ftp://h/r", "https://u:p@h/r"} {
		_, err := repo.OpenRemote(source)
		wantErr(t, err, "cannot fetch")
	}
}

// TestMirrorEvil: objects that git's own checks refuse never get into a mirror.
func TestMirrorEvil(t *testing.T) {
	g := newGit(t)
	g.setMain(g.rawTree("100644", ".git", g.blob("x")))
	_, err := mirrorOf(t, g, repo.MirrorLimits{}).Update(t.Context(), []string{"main"})
	wantErr(t, err, "cannot follow", "hasDotgit")
}

func TestChain(t *testing.T) {
	g, _, second := twoCommits(t)
	r := g.open()
	c, err := r.Chain(context.Background(), second, "modules/web")
	if err != nil || len(c.Trees) != 2 || !strings.HasPrefix(string(c.Commit), "tree ") ||
		!strings.Contains(string(c.Trees[1]), "40000 web\x00") {
		t.Errorf("%q, %v", c, err)
	}
	if c, err := r.Chain(context.Background(), second, "."); err != nil || len(c.Trees) != 1 {
		t.Errorf("%q, %v", c, err)
	}
	for _, dir := range []string{"modules/none", "none/web", "fettle.hcl", "..", "/"} {
		_, err := r.Chain(context.Background(), second, dir)
		wantErr(t, err, "cannot ")
	}
	_, err = r.Chain(context.Background(), "main", ".")
	wantErr(t, err, "is not a commit")
}

// TestLocksOfAKilledGit: a git process that was killed in any change leaves locks, and the next change works.
func TestLocksOfAKilledGit(t *testing.T) {
	g := newGit(t)
	g.write("fettle.hcl", "one\n")
	first := g.commit("first")
	m := mirrorOf(t, g, repo.MirrorLimits{})
	if _, err := m.Update(t.Context(), []string{"main"}); err != nil {
		t.Fatal(err)
	}
	refs, err := os.ReadDir(filepath.Join(m.Dir(), "refs", "followed"))
	if err != nil || len(refs) != 1 {
		t.Fatal(refs, err)
	}
	g.write("fettle.hcl", "two\n")
	second := g.commit("second")
	left := []string{"refs/kept/" + first + ".lock", "refs/kept/" + second + ".lock",
		"refs/followed/" + refs[0].Name() + ".lock",
		"packed-refs.lock", "shallow.lock", "config.lock", "HEAD.lock", "gc.pid", "objects/maintenance.lock",
		"objects/pack/tmp_pack_x", "objects/info/commit-graphs/commit-graph-chain.lock"}
	leave := func() {
		for _, name := range left {
			path := filepath.Join(m.Dir(), name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	leave()
	if got, err := m.Update(t.Context(), []string{"main"}); err != nil || got["main"] != second {
		t.Errorf("an update after a kill: %v, %v", got, err)
	}
	leave()
	if err := m.Tidy(t.Context(), func(commit string) bool { return commit == second }); err != nil {
		t.Errorf("cleaning up after a kill: %v", err)
	}
	for _, name := range left {
		if _, err := os.Stat(filepath.Join(m.Dir(), name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
	leave()
	h, err := repo.OpenHistory(t.Context(), m.Dir(), remoteOf(t, "file://"+g.dir), repo.MirrorLimits{})
	if err == nil {
		err = h.Fetch(t.Context(), first)
	}
	if err != nil {
		t.Errorf("a history after a kill: %v", err)
	}
}
