package content_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
)

// gitRepo is a repository of the real git, whose commits the real ssh-keygen signs.
type gitRepo struct {
	t    testing.TB
	dir  string
	key  string // the file of the signing key; "" signs nothing
	when int64
}

func newGit(t testing.TB, args ...string) *gitRepo {
	t.Helper()
	g := &gitRepo{t: t, dir: filepath.Join(t.TempDir(), "r"), when: 1_700_000_000}
	if err := os.Mkdir(g.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return g
}

func (g *gitRepo) git(args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	date := fmt.Sprintf("%d +0100", g.when)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Com",
		"GIT_COMMITTER_EMAIL=c@example.org",
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
	out, err := cmd.CombinedOutput()
	if err != nil {
		g.t.Fatalf("git %q: %v\n%s", args, err, out)
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

// commit makes a commit that is signed by the key, a minute after the previous one.
func (g *gitRepo) commit(msg string) string {
	g.t.Helper()
	g.when += 60
	g.git("add", "-A")
	args := []string{"commit", "-q", "--allow-empty", "-m", msg}
	if g.key != "" {
		args = append([]string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + g.key}, append(args, "-S")...)
	}
	g.git(args...)
	return g.git("rev-parse", "HEAD")
}

// newKey creates a key, and returns its file and its line for the file of signers.
func newKey(t testing.TB, kind ...string) (file, line string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "key")
	out, err := exec.Command("ssh-keygen", append([]string{"-q", "-N", "", "-C", "c", "-f", file, "-t"},
		kind...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return file, "ann@example.org " + strings.TrimSpace(string(public))
}

func signers(t testing.TB, lines ...string) content.Signers {
	t.Helper()
	s, err := content.ParseSigners("signers", []byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// site is a repository with all kinds of entries that a git tree can have.
func site(t testing.TB, args ...string) *gitRepo {
	g := newGit(t, args...)
	g.write("fettle.hcl", "target \"web1\" {}\n")
	g.write(fleetFile, "")
	g.write("data/a/deep/file.yaml", "a: 1\n")
	g.write("data/a.txt", "beside the directory a: git sorts them as a.txt, a/\n")
	g.write("data/a0", "and a0 behind both\n")
	g.write("modules/web/module.hcl", "package \"nginx\" {}\n")
	g.write("modules/web/files/run", "#!/bin/sh\n")
	g.write("modules/db/module.hcl", "package \"postgresql\" {}\n")
	if err := os.Chmod(filepath.Join(g.dir, "modules/web/files/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"modules/web/files/link": "/srv/www", "data/up": "../fettle.hcl"} {
		if err := os.Symlink(target, filepath.Join(g.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func (g *gitRepo) open() *repo.Repo {
	g.t.Helper()
	r, err := repo.Open(context.Background(), g.dir)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { r.Close() })
	return r
}

func memStore(t testing.TB, limit int64) *content.Store {
	t.Helper()
	s, err := content.OpenStore(mem.NewFS(mem.Options{}), "/content", limit)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// packed is a commit in a store.
type packed struct {
	store *content.Store
	parts []fleet.Assigned
}

func (g *gitRepo) pack(commit string) packed {
	g.t.Helper()
	s := memStore(g.t, 0)
	parts, err := content.PackAll(context.Background(), g.open(), fleet.Revision{Repository: "site", Commit: commit}, s)
	if err != nil {
		g.t.Fatal(err)
	}
	return packed{s, parts}
}

func (p packed) part(t testing.TB, name string) (fleet.Assigned, *content.Bundle, content.Proof) {
	t.Helper()
	for _, a := range p.parts {
		if a.Module != name {
			continue
		}
		b, end, err := content.OpenBundle(p.store, a.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = end() })
		text, err := p.store.Read(*a.Proof, content.MaxProof)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := content.ParseProof(text)
		if err != nil {
			t.Fatal(err)
		}
		return a, b, proof
	}
	t.Fatalf("there is no part %q in %v", name, p.parts)
	return fleet.Assigned{}, nil, content.Proof{}
}

func claim(a fleet.Assigned) content.Claim {
	return content.Claim{Repository: "site", Commit: a.Revision.Commit, Part: a.Module, Permit: a.Permit,
		Target: "web1", Labels: map[string]string{"env": "prod"}}
}
