package repo_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

func Example() {
	t := repo.MapTree(map[string]string{"fettle.hcl": "", "modules/web/motd": "hello\n"},
		repo.Link("modules/web/l", "motd"))
	web := repo.Sub(t, "modules/web")
	text, _ := web.ReadFile("motd")
	fmt.Printf("%s", text)
	_, err := web.ReadFile("../../fettle.hcl")
	fmt.Println(err)
	_, err = web.ReadFile("mott")
	fmt.Println(err)
	// Output:
	// hello
	// cannot read "../../fettle.hcl": the path leaves the tree
	// cannot read "modules/web/mott": there is no such file in the repository. Did you mean "modules/web/motd"?
}

func TestAt(t *testing.T) {
	g, first, second := twoCommits(t)
	r := g.open()
	for _, c := range []struct{ rev, commit, branch string }{
		{"main", second, "main"}, {"HEAD", second, "main"}, {"v1", first, ""}, {"old", first, "old"},
		{"HEAD~1", first, ""}, {first, first, ""}, {first[:9], first, ""}, {"refs/heads/old", first, "old"},
		{"main^", first, ""},
	} {
		tree, info := at(t, r, c.rev)
		if info.Commit != c.commit || info.Branch != c.branch || info.Dirty {
			t.Errorf("%s: %+v", c.rev, info)
		}
		want := "fettle.hcl \"one\\n\"\nlink -> fettle.hcl\nmodules/web/run* \"#!/bin/sh\\n\"\n"
		if c.commit == second {
			want = strings.Replace(want, `one\n`, `one\ntwo\n`, 1)
		}
		if got := show(t, tree); got != want {
			t.Errorf("%s:\n%s", c.rev, got)
		}
	}
	_, info := at(t, r, "v1")
	if info.Subject != "first" || info.Author != "Ann <ann@example.org>" || info.Time != 1700000001 {
		t.Errorf("%+v", info)
	}
}

func TestAtDoesNotTouchTheWorkTree(t *testing.T) {
	g, _, _ := twoCommits(t)
	g.write("fettle.hcl", "uncommitted\n")
	before := g.git("status", "--porcelain=v2")
	tree, _ := at(t, g.open(), "v1")
	if text, _ := tree.ReadFile("fettle.hcl"); string(text) != "one\n" {
		t.Errorf("%q", text)
	}
	if after := g.git("status", "--porcelain=v2"); after != before {
		t.Errorf("%s\nbecame\n%s", before, after)
	}
}

func TestKindsOfRepositories(t *testing.T) {
	g, first, second := twoCommits(t)
	_, want := at(t, g.open(), "v1")
	bare := filepath.Join(t.TempDir(), "bare.git")
	g.git("clone", "-q", "--bare", g.dir, bare)
	linked := filepath.Join(t.TempDir(), "linked")
	g.git("worktree", "add", "-q", "--detach", linked, "v1")
	for _, dir := range []string{bare, linked, filepath.Join(g.dir, "modules/web"), filepath.Join(g.dir, ".git")} {
		_, info := at(t, open(t, dir), "v1")
		if info.Commit != first || info.Digest != want.Digest {
			t.Errorf("%s: %+v", dir, info)
		}
	}
	_, _, err := open(t, bare).WorkTree(context.Background())
	wantErr(t, err, "bare repository", "--rev")
	if r := open(t, filepath.Join(g.dir, "modules/web")); r.Prefix() != "modules/web" || r.Top() != g.dir {
		t.Errorf("%q %q", r.Prefix(), r.Top())
	}
	g.git("checkout", "-q", "--detach", second)
	if _, info := at(t, g.open(), "HEAD"); info.Branch != "" || info.Commit != second {
		t.Errorf("detached: %+v", info)
	}
}

func TestSHA256Repository(t *testing.T) {
	g := newGit(t, "--object-format=sha256")
	g.write("a", "x")
	id := g.commit("c")
	_, info := at(t, g.open(), "main")
	_, work := workTree(t, g.open())
	if info.Commit != id || len(id) != 64 || !reflect.DeepEqual(work, info) {
		t.Errorf("%+v\n%+v", info, work)
	}
}

func TestWorkTree(t *testing.T) {
	g, _, second := twoCommits(t)
	r := g.open()
	_, commit := at(t, r, "HEAD")
	_, clean := workTree(t, r)
	if !reflect.DeepEqual(clean, commit) {
		t.Errorf("clean work tree %+v, commit %+v", clean, commit)
	}
	g.write(".gitignore", "*.log\n")
	g.write("x.log", "ignored")
	g.write("new/file", "untracked\n")
	g.write("fettle.hcl", "changed\n")
	if err := os.Remove(filepath.Join(g.dir, "modules/web/run")); err != nil {
		t.Fatal(err)
	}
	tree, dirty := workTree(t, r)
	want := ".gitignore \"*.log\\n\"\nfettle.hcl \"changed\\n\"\nlink -> fettle.hcl\nnew/file \"untracked\\n\"\n"
	if got := show(t, tree); got != want {
		t.Errorf("%s", got)
	}
	if !dirty.Dirty || dirty.Commit != second || dirty.Digest == clean.Digest || dirty.Branch != "main" {
		t.Errorf("%+v", dirty)
	}
	digest, err := repo.TreeDigest(tree)
	if err != nil || digest != dirty.Digest {
		t.Error(digest, err)
	}
	g.commit("third")
	_, third := at(t, r, "HEAD")
	if third.Digest != dirty.Digest {
		t.Error("committing what was there changes the digest")
	}
}

func TestEveryDifferenceIsDirty(t *testing.T) {
	for name, change := range map[string]func(dir string) error{
		"content":  func(d string) error { return os.WriteFile(d+"/fettle.hcl", []byte("one\nTwo\n"), 0o644) },
		"exec bit": func(d string) error { return os.Chmod(d+"/fettle.hcl", 0o755) },
		"deleted":  func(d string) error { return os.Remove(d + "/fettle.hcl") },
		"new":      func(d string) error { return os.WriteFile(d+"/new", nil, 0o644) },
		"link": func(d string) error {
			return errors.Join(os.Remove(d+"/link"), os.Symlink("elsewhere", d+"/link"))
		},
		"file to link": func(d string) error {
			return errors.Join(os.Remove(d+"/fettle.hcl"), os.Symlink("one\ntwo\n"[:3], d+"/fettle.hcl"))
		},
		"directory to link": func(d string) error {
			return errors.Join(os.Rename(d+"/modules", d+"/../moved"), os.Symlink("../moved", d+"/modules"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, _, _ := twoCommits(t)
			r := g.open()
			_, clean := workTree(t, r)
			if clean.Dirty {
				t.Fatal("dirty from the start")
			}
			if err := change(g.dir); err != nil {
				t.Fatal(err)
			}
			if _, info := workTree(t, r); !info.Dirty || info.Digest == clean.Digest {
				t.Errorf("%+v", info)
			}
		})
	}
}

func TestUnbornAndPlain(t *testing.T) {
	g := newGit(t)
	g.write("a", "x")
	_, info := workTree(t, g.open())
	if !info.Dirty || info.Commit != "" {
		t.Errorf("%+v", info)
	}
	_, _, err := g.open().At(context.Background(), "HEAD")
	wantErr(t, err, "no commit yet", "git commit")

	dir := t.TempDir()
	if err := os.WriteFile(dir+"/a", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	plain := open(t, dir)
	_, pinfo := workTree(t, plain)
	if pinfo.Digest != info.Digest || pinfo.Dirty || plain.IsGit() {
		t.Errorf("%+v", pinfo)
	}
	_, _, err = plain.At(context.Background(), "main")
	wantErr(t, err, `"main"`, "not a git repository", "git init")
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	_, err := repo.Open(context.Background(), dir+"/none")
	wantErr(t, err, "no such directory", "fettle init")
	if err := os.WriteFile(dir+"/f", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = repo.Open(context.Background(), dir+"/f")
	wantErr(t, err, "it is a file", "-C "+dir)
	if err := os.WriteFile(dir+"/.git", []byte("gitdir: gone\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = repo.Open(context.Background(), dir)
	wantErr(t, err, "gone", "worktree repair")
}

func TestUnknownRevisions(t *testing.T) {
	g, first, _ := twoCommits(t)
	g.git("branch", "release/2026")
	g.git("branch", "both")
	g.git("tag", "both", first)
	r := g.open()
	for rev, want := range map[string]string{
		"mian": `Did you mean "main"?`, "v2": `Did you mean "v1"?`, "relaese/2026": `Did you mean "release/2026"?`,
		"mian~1": `Did you mean "main"?`,
		"main~7": "no such ancestor", "deadbeef": "git fetch", "production": `There is "both"`, "": "empty",
		"-p": "begins with '-'", "--output=/tmp/x": "begins with '-'", "a..b": "'..'", "refs/heads/../../config": "'..'",
		"HEAD:fettle.hcl": "names of commits cannot contain", ":/first": "names of commits cannot contain",
		"HEAD^{/x}": "names of commits cannot contain", "a\nb": "control", "both": "refs/tags/both",
		strings.Repeat("x", 300): "longer than", "HEAD^{tree}": "not a commit",
	} {
		_, _, err := r.At(context.Background(), rev)
		wantErr(t, err, want)
	}
	if _, info := at(t, r, "refs/tags/both"); info.Commit != first {
		t.Errorf("%+v", info)
	}
}

func TestShallowClone(t *testing.T) {
	g, _, second := twoCommits(t)
	dir := filepath.Join(t.TempDir(), "s")
	g.git("clone", "-q", "--depth=1", "file://"+g.dir, dir)
	r := open(t, dir)
	if _, info := at(t, r, "main"); info.Commit != second {
		t.Errorf("%+v", info)
	}
	_, _, err := r.At(context.Background(), "main~1")
	wantErr(t, err, "shallow", "git fetch --unshallow")
}

func TestBlameAndChanged(t *testing.T) {
	g, first, second := twoCommits(t)
	r, ctx := g.open(), context.Background()
	for line, want := range map[int]string{1: first, 2: second} {
		info, file, err := r.Blame(ctx, "main", "fettle.hcl", line)
		if err != nil || info.Commit != want || file != "fettle.hcl" || info.Author != "Ann <ann@example.org>" {
			t.Errorf("line %d: %+v %q %v", line, info, file, err)
		}
	}
	for _, c := range []struct {
		path string
		line int
	}{{"fettle.hcl", 99}, {"none", 1}, {"../x", 1}, {"fettle.hcl", 0}} {
		_, _, err := r.Blame(ctx, "main", c.path, c.line)
		wantErr(t, err)
	}
	got, err := r.Changed(ctx, "v1", "main")
	if err != nil || fmt.Sprint(got) != "[fettle.hcl]" {
		t.Error(got, err)
	}
	if got, err := r.Changed(ctx, "main", "main"); err != nil || got != nil {
		t.Error(got, err)
	}
}

func TestTreeErrors(t *testing.T) {
	g, _, _ := twoCommits(t)
	commit, _ := at(t, g.open(), "main")
	work, _ := workTree(t, g.open())
	mem := repo.MapTree(map[string]string{"fettle.hcl": "x"}, repo.Exec("modules/web/run", "x"),
		repo.Link("link", "fettle.hcl"))
	for name, tree := range map[string]repo.Tree{"commit": commit, "work": work, "mem": mem} {
		_, err := tree.ReadFile("fetle.hcl")
		wantErr(t, err, `Did you mean "fettle.hcl"?`)
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: not ErrNotExist: %v", name, err)
		}
		for _, p := range []string{"/etc/passwd", "../x", "modules/../../x"} {
			_, err = tree.ReadFile(p)
			wantErr(t, err)
			if _, err := tree.ReadDir(p); err == nil {
				t.Errorf("%s: ReadDir %q", name, p)
			}
		}
		_, err = tree.ReadFile("link")
		wantErr(t, err, "symbolic link", "not followed")
		_, err = tree.Open("modules")
		wantErr(t, err, "it is a directory")
		_, err = tree.Readlink("fettle.hcl")
		wantErr(t, err, "not a symbolic link")
		_, err = tree.ReadDir("fettle.hcl")
		wantErr(t, err, "not a directory")
		_, err = tree.Stat("fettle.hcl/x")
		wantErr(t, err, "not a directory")
		if e, err := tree.Stat("modules/./web/"); err != nil || e.Type != repo.Dir || e.Path != "modules/web" {
			t.Errorf("%s: %+v %v", name, e, err)
		}
	}
}
