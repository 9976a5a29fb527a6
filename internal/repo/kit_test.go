package repo_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

// gitRepo is a repository made by the real git.
type gitRepo struct {
	t   testing.TB
	dir string
}

func newGit(t testing.TB, args ...string) *gitRepo {
	t.Helper()
	g := &gitRepo{t, filepath.Join(t.TempDir(), "r")}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return g
}

func (g *gitRepo) git(args ...string) string { return g.gitIn("", args...) }

func (g *gitRepo) gitIn(stdin string, args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Com",
		"GIT_COMMITTER_EMAIL=c@example.org",
		"GIT_AUTHOR_DATE=1700000000 +0100", "GIT_COMMITTER_DATE=1700000001 +0100"}
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("git %q: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (g *gitRepo) write(name, text string) {
	g.t.Helper()
	p := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		g.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		g.t.Fatal(err)
	}
}

func (g *gitRepo) commit(msg string) string {
	g.t.Helper()
	g.git("add", "-A")
	g.git("commit", "-q", "--allow-empty", "-m", msg)
	return g.git("rev-parse", "HEAD")
}

func (g *gitRepo) open() *repo.Repo { return open(g.t, g.dir) }

func open(t testing.TB, dir string) *repo.Repo {
	t.Helper()
	r, err := repo.Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// show is a whole tree as text.
func show(t testing.TB, tree repo.Tree) string {
	t.Helper()
	var b strings.Builder
	err := repo.Walk(tree, ".", func(e repo.Entry) error {
		switch {
		case e.Type == repo.Symlink:
			target, err := tree.Readlink(e.Path)
			fmt.Fprintf(&b, "%s -> %s\n", e.Path, target)
			return err
		case e.Exec:
			fmt.Fprintf(&b, "%s* ", e.Path)
		default:
			fmt.Fprintf(&b, "%s ", e.Path)
		}
		text, err := tree.ReadFile(e.Path)
		if int64(len(text)) != e.Size {
			t.Errorf("%s: %d bytes, Stat says %d", e.Path, len(text), e.Size)
		}
		fmt.Fprintf(&b, "%q\n", text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func at(t testing.TB, r *repo.Repo, rev string) (repo.Tree, repo.Revision) {
	t.Helper()
	tree, info, err := r.At(context.Background(), rev)
	if err != nil {
		t.Fatal(err)
	}
	return tree, info
}

func workTree(t testing.TB, r *repo.Repo) (repo.Tree, repo.Revision) {
	t.Helper()
	tree, info, err := r.WorkTree(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return tree, info
}

func wantErr(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	if !strings.HasPrefix(err.Error(), "cannot ") {
		t.Errorf("error does not start with cannot: %v", err)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error has no %q: %v", p, err)
		}
	}
}

// twoCommits has branch main with two commits, tag v1 on the first, branch old.
func twoCommits(t testing.TB) (g *gitRepo, first, second string) {
	g = newGit(t)
	g.write("fettle.hcl", "one\n")
	g.write("modules/web/run", "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(g.dir, "modules/web/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fettle.hcl", filepath.Join(g.dir, "link")); err != nil {
		t.Fatal(err)
	}
	first = g.commit("first\n\nbody")
	g.git("tag", "-a", "-m", "t", "v1")
	g.git("branch", "old")
	g.write("fettle.hcl", "one\ntwo\n")
	second = g.commit("second")
	return g, first, second
}
