package repo_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/sample"
)

// watched is a repository that is looked at again and again with one memory,
// and each time without any, which must give the same.
type watched struct {
	*gitRepo
	at     string // the directory that is opened
	rev    string
	memory []byte
}

// look returns the recalled tree, if there is one, and then reads the tree again. Both must equal
// the result without a memory.
func (w *watched) look(now func() time.Time) (recalled bool) {
	w.t.Helper()
	r := open(w.t, w.at)
	m := repo.ParseMemory(w.memory)
	r.Use(m, now)
	if tree, info, ok := r.Recall(w.rev); ok {
		recalled = true
		w.same("recalled", tree, info, nil)
	}
	tree, info, err := read(w.t, r, w.rev)
	w.same("read with a memory", tree, info, err)
	if b := m.Bytes(); b != nil {
		w.memory = b
	}
	return recalled
}

func read(t testing.TB, r *repo.Repo, rev string) (repo.Tree, repo.Revision, error) {
	if rev != "" {
		return r.At(t.Context(), rev)
	}
	return r.WorkTree(t.Context())
}

// same compares an answer with that of a look without memory.
func (w *watched) same(how string, tree repo.Tree, info repo.Revision, err error) {
	w.t.Helper()
	wantTree, want, wantErr := read(w.t, open(w.t, w.at), w.rev)
	if fmt.Sprint(err) != fmt.Sprint(wantErr) {
		w.t.Fatalf("%s: %v, else: %v", how, err, wantErr)
	}
	if wantErr != nil {
		return
	}
	if !reflect.DeepEqual(info, want) {
		w.t.Fatalf("%s: %+v\nelse: %+v", how, info, want)
	}
	if got, all := opened(w.t, tree, wantTree), opened(w.t, wantTree, wantTree); got != all {
		w.t.Fatalf("%s, opened:\n%s\nelse:\n%s", how, got, all)
	}
	if got, all := show(w.t, tree), show(w.t, wantTree); got != all {
		w.t.Fatalf("%s:\n%s\nelse:\n%s", how, got, all)
	}
	if digest, err := repo.TreeDigest(tree); err != nil || digest != want.Digest {
		w.t.Fatalf("%s: digest %s, %v, want %s", how, digest, err, want.Digest)
	}
}

// opened returns the results of opening each name of one tree in another, unused tree. It also
// tries the names of directories, missing names and names above the tree.
func opened(t testing.TB, tree, names repo.Tree) string {
	var b strings.Builder
	var walk func(dir string)
	walk = func(dir string) {
		list, err := names.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range append(list, repo.Entry{Path: dir}, repo.Entry{Path: path.Join(dir, "no-such-name")},
			repo.Entry{Path: "../" + dir}) {
			r, err := tree.Open(e.Path)
			if err != nil {
				fmt.Fprintln(&b, e.Path, err)
			} else {
				text, err := io.ReadAll(r)
				fmt.Fprintln(&b, e.Path, string(text), err, r.Close())
			}
			if e.Type == repo.Dir {
				walk(e.Path)
			}
		}
	}
	walk(".")
	return b.String()
}

// settle looks until the tree is recalled. A file that has just changed is not recorded.
func (w *watched) settle() {
	w.t.Helper()
	for range 20 {
		if w.look(time.Now) {
			return
		}
	}
	w.t.Fatal("it is never remembered")
}

// newWatched has files in directories, a link, an executable file, an ignored directory, ignored
// files, and directories with nothing that counts.
func newWatched(t testing.TB) *watched {
	g := newGit(t)
	g.write("fettle.hcl", "target \"a\" {}\n")
	g.write("m/one", "first\n")
	g.write("m/deep/two", "second\n")
	g.write("m/run", "#!/bin/sh\n")
	g.write(".gitignore", "*.log\nbuild/\n!kept.log\n")
	g.write("m/.gitignore", "local\n.gitignore.own\n")
	g.write("logs/a.log", "ignored\n")
	g.write("build/out/x", "ignored\n")
	for _, err := range []error{
		os.Chmod(filepath.Join(g.dir, "m/run"), 0o755), os.Symlink("one", filepath.Join(g.dir, "m/link")),
		os.MkdirAll(filepath.Join(g.dir, "empty/within"), 0o755),
	} {
		must(t, err)
	}
	g.commit("first")
	return &watched{gitRepo: g, at: g.dir}
}

func (w *watched) path(name string) string { return filepath.Join(w.dir, name) }

// forge changes a file in place and gives it the size and time that it had.
func (w *watched) forge(name, text string) {
	w.t.Helper()
	info, err := os.Stat(w.path(name))
	must(w.t, err)
	if err != nil {
		return // an earlier change took the file, which attempt allows
	}
	must(w.t, os.WriteFile(w.path(name), []byte(text), 0o644))
	must(w.t, os.Chtimes(w.path(name), info.ModTime(), info.ModTime()))
	after, err := os.Stat(w.path(name))
	must(w.t, err)
	if after.Size() != info.Size() || !after.ModTime().Equal(info.ModTime()) {
		w.t.Fatal("the forgery can be told from its size or time")
	}
}

// attempt makes a change that can be impossible after other changes.
func (w *watched) attempt(c change) {
	dir := w.dir
	w.gitRepo = &gitRepo{&lenient{w.t}, dir}
	defer func() { w.gitRepo = &gitRepo{w.gitRepo.t.(*lenient).TB, dir} }()
	c.do(w)
}

// lenient is a test in which git may refuse.
type lenient struct{ testing.TB }

func (l *lenient) Fatalf(string, ...any) {}
func (l *lenient) Fatal(...any)          {}

// newest is when the inode changed last.
func newest(t testing.TB, path string, info os.FileInfo) time.Time {
	t.Helper()
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatal(path, "has no times")
	}
	return time.Unix(0, st.Ctim.Nano())
}

// change is one thing that can happen to a work tree.
type change struct {
	name   string
	do     func(w *watched)
	recall bool // afterwards it may still be recalled, being the same
}

// changes are all of them. Some need others before them; then they do nothing.
func changes() []change {
	git := func(args ...string) func(*watched) {
		return func(w *watched) { w.git(args...) }
	}
	try := func(f func(w *watched) error) func(*watched) { return func(w *watched) { _ = f(w) } }
	return []change{
		{"nothing", func(*watched) {}, true},
		{"content", func(w *watched) { w.write("m/one", "longer than before\n") }, false},
		{"same size, forged time", func(w *watched) { w.forge("m/one", "fIrst\n") }, false},
		{"touched only", try(func(w *watched) error { return os.Chtimes(w.path("m/one"), time.Now(), time.Now()) }), false},
		{"executable", try(func(w *watched) error { return os.Chmod(w.path("m/one"), 0o755) }), false},
		{"not executable", try(func(w *watched) error { return os.Chmod(w.path("m/run"), 0o644) }), false},
		{"replaced by itself", try(func(w *watched) error {
			text, _ := os.ReadFile(w.path("m/one"))
			return errors.Join(os.WriteFile(w.path("m/new"), text, 0o644), os.Rename(w.path("m/new"), w.path("m/one")))
		}), false},
		{"replaced by a link", try(func(w *watched) error {
			return errors.Join(os.RemoveAll(w.path("m/one")), os.Symlink("deep/two", w.path("m/one")))
		}), false},
		{"link elsewhere", try(func(w *watched) error {
			return errors.Join(os.Remove(w.path("m/link")), os.Symlink("run", w.path("m/link")))
		}), false},
		{"removed", try(func(w *watched) error { return os.Remove(w.path("m/deep/two")) }), false},
		{"directory replaced by a link", try(func(w *watched) error {
			return errors.Join(os.RemoveAll(w.path("moved")), os.Rename(w.path("m/deep"), w.path("moved")),
				os.Symlink("../moved", w.path("m/deep")))
		}), false},
		{"new file", func(w *watched) { w.write("m/new", "x") }, false},
		{"new file in an empty directory", func(w *watched) { w.write("empty/within/new", "x") }, false},
		{"new file among ignored ones", func(w *watched) { w.write("logs/b.txt", "x") }, false},
		{"new kept file among ignored ones", func(w *watched) { w.write("logs/kept.log", "x") }, false},
		{"new ignored file", func(w *watched) { w.write("logs/b.log", "x") }, false},
		{"ignored file changed", func(w *watched) { w.write("logs/a.log", "other\n") }, true},
		{"new file in an ignored directory", func(w *watched) { w.write("build/out/y", "x") }, true},
		{"new directory in an ignored directory", func(w *watched) { w.write("build/more/y", "x") }, true},
		{"new empty directory", try(func(w *watched) error { return os.MkdirAll(w.path("empty/other"), 0o755) }), false},
		{"ignored directory counts", func(w *watched) { w.write(".gitignore", "*.log\n") }, false},
		{"ignored files count", func(w *watched) { w.write(".gitignore", "build/\n") }, false},
		{"ignore file that is ignored", func(w *watched) { w.write("logs/.gitignore", ".gitignore\n") }, false},
		{"excluded by the repository", func(w *watched) { w.write(".git/info/exclude", "new\n") }, false},
		{"excluded no more", try(func(w *watched) error { return os.Remove(w.path(".git/info/exclude")) }), false},
		{"tracked though ignored", try(func(w *watched) error { w.git("add", "-f", "logs/a.log"); return nil }), false},
		{"in the index", func(w *watched) { w.write("m/one", "staged\n"); w.git("add", "m") }, false},
		{"new in the index", func(w *watched) { w.write("m/staged", "x"); w.git("add", "m/staged") }, false},
		{"out of the index", git("rm", "-q", "--cached", "--ignore-unmatch", "m/one"), false},
		{"assumed unchanged", try(func(w *watched) error {
			w.git("update-index", "-q", "--assume-unchanged", ".gitignore")
			return nil
		}), false},
		{"skipped", func(w *watched) { w.git("update-index", "-q", "--skip-worktree", ".gitignore") }, false},
		{"neither", func(w *watched) {
			w.git("update-index", "-q", "--no-skip-worktree", ".gitignore")
			w.git("update-index", "-q", "--no-assume-unchanged", ".gitignore")
		}, false},
		{"commit of the same tree", git("commit", "-q", "--allow-empty", "-m", "again"), false},
		{"commit of all", func(w *watched) { w.git("add", "-A"); w.git("commit", "-q", "--allow-empty", "-m", "all") },
			false},
		{"amended", git("commit", "-q", "--allow-empty", "--amend", "-m", "other words"), false},
		{"another branch", func(w *watched) { w.git("checkout", "-q", "-f", "-B", "other") }, false},
		{"detached", git("checkout", "-q", "-f", "--detach"), false},
		{"packed", git("pack-refs", "--all"), false},
		{"collected", git("gc", "-q"), false},
		{"branch without a commit", git("symbolic-ref", "HEAD", "refs/heads/unborn"), false},
		{"back to main", git("checkout", "-q", "-f", "-B", "main", "main"), false},
		{"branch named HEAD", git("update-ref", "refs/heads/HEAD", "HEAD"), false},
		{"tag named HEAD", git("update-ref", "refs/tags/HEAD", "HEAD"), false},
		{"no branch named HEAD", func(w *watched) {
			w.git("update-ref", "-d", "refs/heads/HEAD")
			w.git("update-ref", "-d", "refs/tags/HEAD")
		}, false},
		{"setting", git("config", "core.ignoreCase", "true"), false},
		{"broken setting", func(w *watched) { w.write(".git/config", "[core\n") }, false},
		{"repository within", func(w *watched) { w.git("init", "-q", "within"); w.write("within/f", "x") }, false},
		{"no repository within", try(func(w *watched) error { return os.RemoveAll(w.path("within")) }), false},
		{"submodule", func(w *watched) {
			w.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
		}, false},
		{"no submodule", git("update-index", "--force-remove", "sub"), false},
		{"fifo", try(func(w *watched) error { return syscall.Mkfifo(w.path("m/pipe"), 0o644) }), false},
		{"no fifo", try(func(w *watched) error { return os.Remove(w.path("m/pipe")) }), false},
		{"cleaned", func(w *watched) { w.git("clean", "-q", "-f", "-d"); w.git("reset", "-q", "--hard") }, false},
		{"alternate objects", func(w *watched) { w.write(".git/objects/info/alternates", w.path(".git/objects")+"\n") },
			false},
	}
}

// TestRecall: after every change of a recorded work tree, the answer equals the answer without
// memory. If nothing changed, the tree is recalled.
func TestRecall(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			sample.Half(t)
			t.Parallel()
			w := newWatched(t)
			w.settle()
			switch c.name { // these changes undo others
			case "no fifo", "no repository within", "no submodule", "neither", "no branch named HEAD", "back to main", "cleaned":
				w.write("m/undone", "x")
			}
			c.do(w)
			if recalled := w.look(time.Now); recalled != c.recall {
				t.Errorf("recalled is %v", recalled)
			}
		})
	}
}
