package repo_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/repo"
)

// rawTree writes a tree object that git itself would refuse to make.
func (g *gitRepo) rawTree(entries ...string) string {
	g.t.Helper()
	var b strings.Builder
	for i := 0; i < len(entries); i += 3 {
		mode, name, id := entries[i], entries[i+1], entries[i+2]
		b.WriteString(mode + " " + name + "\x00")
		for j := 0; j < len(id); j += 2 {
			var c byte
			fmt.Sscanf(id[j:j+2], "%02x", &c)
			b.WriteByte(c)
		}
	}
	return g.gitIn(b.String(), "hash-object", "--literally", "-t", "tree", "-w", "--stdin")
}

func (g *gitRepo) blob(text string) string {
	return g.gitIn(text, "hash-object", "-w", "--stdin")
}

func (g *gitRepo) setMain(tree string) {
	g.t.Helper()
	g.git("update-ref", "refs/heads/main", g.git("commit-tree", "-m", "evil", tree))
}

// TestEvilTrees has one crafted commit a case. "" means that the tree is fine.
func TestEvilTrees(t *testing.T) {
	const missing = "1234567890123456789012345678901234567890"
	one := func(mode, name string) func(*gitRepo) string {
		return func(g *gitRepo) string { return g.rawTree(mode, name, g.blob("x")) }
	}
	nested := func(names ...string) func(*gitRepo) string {
		return func(g *gitRepo) string {
			tree := g.rawTree("100644", names[len(names)-1], g.blob("x"))
			for i := len(names) - 2; i >= 0; i-- {
				tree = g.rawTree("40000", names[i], tree)
			}
			return tree
		}
	}
	link := func(target string) func(*gitRepo) string {
		return func(g *gitRepo) string { return g.rawTree("120000", "l", g.blob(target)) }
	}
	deep := func(n int) func(*gitRepo) string {
		return nested(strings.Split(strings.Repeat("d ", n-1)+"f", " ")...)
	}
	wide := func(g *gitRepo, leaf string, mode string) string {
		tree := g.rawTree(mode, "f", leaf)
		for range 6 {
			var e []string
			for i := range 10 {
				e = append(e, "40000", fmt.Sprint(i), tree)
			}
			tree = g.rawTree(e...)
		}
		return tree
	}
	cases := []struct {
		name string
		make func(*gitRepo) string
		want string
	}{
		{"dotdot file", one("100644", ".."), `"..", which would lead out`},
		{"dotdot directory", nested("..", "..", "etc", "passwd"), `"..", which would lead out`},
		{"dot", nested(".", "x"), `"."`},
		{"dotgit", nested(".git", "config"), "the directory of git"},
		{"dotgit deep", nested("a", "b", ".git", "hooks", "post-checkout"), "the directory of git"},
		{"dotgit case", nested(".GiT", "config"), "the directory of git"},
		{"dotgit short name", nested("GIT~1", "config"), "the directory of git"},
		{"dotgit hfs", nested(".g\u200cit", "config"), "the directory of git"},
		{"dotgit ntfs dots", nested(".git . .", "config"), "the directory of git"},
		{"dotgit ntfs stream", nested(".git::$INDEX_ALLOCATION", "config"), "the directory of git"},
		{"dotgit file", one("100644", ".git"), "the directory of git"},
		{"dotgit link", one("120000", ".git"), "the directory of git"},
		{"newline", one("100644", "a\nb"), `"a\nb": its name contains a control character`},
		{"carriage return", one("100644", "a\r"), `"a\r"`},
		{"escape", one("100644", "\x1b]0;x\x07"), "control character"},
		{"backwards", one("100644", "a\u202efdp.exe"),
			`"a\u202efdp.exe": its name contains an invisible or misleading character`},
		{"delete", one("100644", "a\x7f"), "control character"},
		{"c1", one("100644", "a\u0085b"), "control character"},
		{"tab", one("100644", "a\tb"), "control character"},
		{"not utf-8", one("100644", "caf\xe9"), `"caf\xe9": its name is not UTF-8`},
		{"slash", one("100644", "a/b"), ""},
		{"slash dotdot", one("100644", "a/../../b"), "lead out"},
		{"absolute", one("100644", "/etc/passwd"), "empty"},
		{"double slash", one("100644", "a//b"), "empty"},
		{"long name", one("100644", strings.Repeat("n", 256)), "longer than 255"},
		{"long path", nested(strings.Repeat("n", 2100), strings.Repeat("n", 2100)), "longer than"},
		{"giant name", one("100644", strings.Repeat("n", 2<<20)), "1 MiB"},
		{"submodule", func(g *gitRepo) string { return g.rawTree("160000", "sub", missing) }, `"sub": it is a submodule`},
		{"group writable", one("100664", "x"), ""}, // git knows two modes and rounds the rest
		{"setuid", one("104755", "x"), ""},
		{"device", one("060000", "x"), "submodule"}, // as git interprets it
		{"twice", func(g *gitRepo) string {
			return g.rawTree("100644", "x", g.blob("a"), "100644", "x", g.blob("b"))
		}, `"x": the path is in the tree twice`},
		{"file and directory", func(g *gitRepo) string {
			return g.rawTree("100644", "x", g.blob("a"), "40000", "x", g.rawTree("100644", "y", g.blob("b")))
		}, "is also a file in the tree"},
		{"directory behind a link", func(g *gitRepo) string {
			return g.rawTree("120000", "x", g.blob("/etc"), "40000", "x", g.rawTree("100644", "passwd", g.blob("b")))
		}, "is also a file in the tree"},
		{"file that is a tree", func(g *gitRepo) string { return g.rawTree("100644", "x", g.rawTree()) }, ""},
		{"missing blob", func(g *gitRepo) string { return g.rawTree("100644", "x", missing) }, ""},
		{"depth 32", deep(32), ""},
		{"depth 33", deep(33), "more than 32 directories deep"},
		{"depth 400", deep(400), "deep"},
		{"million files", func(g *gitRepo) string { return wide(g, g.blob("x"), "100644") }, "more than 50000 files"},
		{"million empty directories", func(g *gitRepo) string { return wide(g, g.rawTree(), "40000") },
			"more than 50000 files"},
		{"case twins", func(g *gitRepo) string {
			return g.rawTree("100644", "A", g.blob("a"), "100644", "a", g.blob("b"))
		}, ""},
		{"odd but fine names", func(g *gitRepo) string {
			return g.rawTree("100644", "-rf", g.blob("a"), "100644", "a b'\"$(x)", g.blob("b"), "100644", "gitmodules",
				g.blob("c"), "100644", "ü😀", g.blob("c"))
		}, ""},
		{"link out", link("../../etc/passwd"), ""},
		{"link absolute", link("/etc/passwd"), ""},
		{"link nul", link("a\x00b"), "symbolic link"},
		{"link newline", link("a\nb"), "symbolic link"},
		{"link empty", link(""), "symbolic link"},
		{"link giant", link(strings.Repeat("l", 1<<20)), "symbolic link"},
		{"link and file of one blob", func(g *gitRepo) string {
			return g.rawTree("100644", "f", g.blob("t"), "120000", "l", g.blob("t"))
		}, ""},
		{"lfs pointer", func(g *gitRepo) string {
			return g.rawTree("100644", ".gitattributes", g.blob("* filter=lfs"), "100644", "f",
				g.blob("version https://git-lfs.github.com/spec/v1\n"))
		}, ""},
		{"gitmodules", func(g *gitRepo) string {
			return g.rawTree("100644", ".gitmodules",
				g.blob("[submodule \"../../x\"]\n\tpath = -u./x\n\turl = ext::touch x\n\tupdate = !touch x\n"))
		}, ""},
	}
	broken := map[string]bool{"file that is a tree": true, "missing blob": true}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			g := newGit(t)
			g.setMain(c.make(g))
			r := g.open()
			tree, info, err := r.At(context.Background(), "main")
			switch {
			case broken[c.name]:
				wantErr(t, err, "main")
			case c.want != "":
				wantErr(t, err, c.want)
				if strings.ContainsAny(err.Error(), "\x00\n\r\x1b\x7f\x07") || len(err.Error()) > 1000 {
					t.Errorf("unfit for a terminal: %q", err)
				}
			case err != nil:
				t.Error(err)
			default:
				show(t, tree)
				if d, err := repo.TreeDigest(tree); err != nil || d != info.Digest {
					t.Error(d, err)
				}
			}
			// In all cases, the repository remains usable.
			g.setMain(g.rawTree("100644", "ok", g.blob("fine")))
			if tree, _ := at(t, r, "main"); show(t, tree) != "ok \"fine\"\n" {
				t.Error("unusable afterwards")
			}
		})
	}
}

func TestEvilWorkTrees(t *testing.T) {
	for name, c := range map[string]struct {
		make func(g *gitRepo) error
		want string
	}{
		"nested repository": {func(g *gitRepo) error {
			g.git("init", "-q", "vendor/x")
			g.write("vendor/x/f", "x")
			return nil
		}, `"vendor/x": it is a git repository of its own`},
		"submodule": {func(g *gitRepo) error {
			g.git("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,sub")
			return nil
		}, `"sub": it is a submodule`},
		"newline": {func(g *gitRepo) error { return os.WriteFile(g.dir+"/a\nb", nil, 0o644) }, `"a\nb"`},
		"tracked and tab": {func(g *gitRepo) error { return os.WriteFile(g.dir+"/100644 x 0\tb", nil, 0o644) },
			"control character"},
		"fifo in place": {func(g *gitRepo) error {
			g.write("p", "x")
			g.commit("p")
			return joinErr(os.Remove(g.dir+"/p"), syscall.Mkfifo(g.dir+"/p", 0o644))
		}, "neither file"},
		"too deep": {func(g *gitRepo) error { g.write(strings.Repeat("d/", 40)+"f", "x"); return nil }, "deep"},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGit(t)
			if err := c.make(g); err != nil {
				t.Fatal(err)
			}
			_, _, err := g.open().WorkTree(context.Background())
			wantErr(t, err, c.want)
		})
	}
}

func joinErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A work tree whose directory became a link reads nothing behind it.
func TestNoLinkLeadsOut(t *testing.T) {
	secret := t.TempDir()
	if err := os.WriteFile(secret+"/f", []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := newGit(t)
	g.write("d/f", "mine")
	g.commit("c")
	r := g.open()
	before, _ := workTree(t, r)
	if err := joinErr(os.RemoveAll(g.dir+"/d"), os.Symlink(secret, g.dir+"/d")); err != nil {
		t.Fatal(err)
	}
	tree, _ := workTree(t, r)
	if got := show(t, tree); got != fmt.Sprintf("d -> %s\n", secret) {
		t.Error(got)
	}
	if text, err := before.ReadFile("d/f"); string(text) == "secret" {
		t.Error("read through the link", err)
	}
	plain := t.TempDir()
	if err := os.Symlink(secret, plain+"/d"); err != nil {
		t.Fatal(err)
	}
	tree, _ = workTree(t, open(t, plain))
	if _, err := tree.ReadFile("d/f"); err == nil {
		t.Error("read through the link of a plain directory")
	}
}

func TestInTree(t *testing.T) {
	for _, c := range []struct {
		path, target string
		want         bool
	}{
		{"l", "f", true}, {"l", "a/b", true}, {"a/l", "../f", true}, {"a/l", "../../f", false}, {"l", "..", false},
		{"l", "/etc/passwd", false}, {"l", "", false}, {"a/b/l", "../../../f", false}, {"a/b/l", "../..", true},
		{"l", "a/../../x", false}, {"l", "a/../x", true}, {"/l", "x", false}, {"a/l", "./../x", true},
	} {
		if got := repo.InTree(c.path, c.target); got != c.want {
			t.Errorf("%s -> %s: %v", c.path, c.target, got)
		}
	}
}

func TestSubStaysInItsDirectory(t *testing.T) {
	tree := repo.MapTree(map[string]string{"a/b/f": "x", "a/g": "y", "top": "z"})
	sub := repo.Sub(tree, "a/b")
	for _, p := range []string{"../g", "../../top", "/a/b/f", "x/../../g"} {
		if _, err := sub.ReadFile(p); err == nil {
			t.Errorf("%s: read", p)
		}
		for _, f := range []func() error{
			func() error { _, err := sub.Open(p); return err }, func() error { _, err := sub.Stat(p); return err },
			func() error { _, err := sub.ReadDir(p); return err }, func() error { _, err := sub.Readlink(p); return err },
			func() error { _, _, err := sub.Digest(p); return err },
		} {
			wantErr(t, f())
		}
	}
	list, err := sub.ReadDir(".")
	if err != nil || len(list) != 1 || list[0].Path != "f" {
		t.Error(list, err)
	}
	if e, err := sub.Stat("."); err != nil || e.Path != "." || e.Type != repo.Dir {
		t.Error(e, err)
	}
	if _, err := repo.Sub(tree, "../x").ReadFile("f"); err == nil {
		t.Error("Sub left the tree")
	}
	a, _ := repo.TreeDigest(sub)
	b, _ := repo.TreeDigest(repo.MapTree(map[string]string{"f": "x"}))
	if a != b {
		t.Error("a subtree's digest depends on where it is")
	}
	c, _ := repo.TreeDigest(repo.MapTree(nil, repo.Exec("f", "x")))
	d, _ := repo.TreeDigest(repo.MapTree(nil, repo.Link("f", "x")))
	if a == c || c == d || a == d {
		t.Error("type or mode is not in the digest")
	}
	_, err = repo.MapTree(map[string]string{"../x": ""}).ReadFile("x")
	wantErr(t, err, "lead out")
}
