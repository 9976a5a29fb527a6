package hostile

import (
	"fmt"
	"os"
	"strings"
)

const missing = "1234567890123456789012345678901234567890"

// treeAttacks are commits whose trees git itself would not make.
func treeAttacks() []attack {
	one := func(mode, name, text string) func(*enemy) {
		return func(e *enemy) { e.main(e.with(mode, name, e.blob(text))) }
	}
	nested := func(names ...string) func(*enemy) {
		return func(e *enemy) {
			last := len(names) - 1
			tree := e.tree("100644", names[last], e.blob("x"))
			for i := last - 1; i > 0; i-- {
				tree = e.tree("40000", names[i], tree)
			}
			e.main(e.with("40000", names[0], tree))
		}
	}
	link := func(target string) func(*enemy) { return one("120000", "l", target) }
	r := strings.Repeat
	list := []attack{
		{name: "file ..", make: one("100644", "..", "x"), says: []string{`"..", which would lead out`}},
		{name: "directory ../../etc", make: nested("..", "..", "etc", "passwd"), says: []string{`".."`, "lead out"}},
		{name: "directory .", make: nested(".", "x"), says: []string{`"."`}},
		{name: ".git/config", make: nested(".git", "config"), says: []string{`".git`, "the directory of git"}},
		{name: "a hook deep down", make: nested("a", "b", ".git", "hooks", "post-checkout"),
			says: []string{`"a/b/.git`, "the directory of git"}},
		{name: ".GiT", make: nested(".GiT", "config"), says: []string{"the directory of git"}},
		{name: "GIT~1", make: nested("GIT~1", "config"), says: []string{"the directory of git"}},
		{name: "HFS .g\u200cit", make: nested(".g\u200cit", "config"), says: []string{"the directory of git"}},
		{name: "NTFS .git with dots", make: nested(".git . .", "config"), says: []string{"the directory of git"}},
		{name: "NTFS .git stream", make: nested(".git::$INDEX_ALLOCATION", "config"), says: []string{"the directory of git"}},
		{name: "a file .git", make: one("100644", ".git", "gitdir: /etc"), says: []string{"the directory of git"}},
		{name: "a link .git", make: one("120000", ".git", "/etc"), says: []string{"the directory of git"}},
		{name: "newline in a name", make: one("100644", "a\nb", "x"), says: []string{`"a\nb"`, "control character"}},
		{name: "return in a name", make: one("100644", "a\r", "x"), says: []string{`"a\r"`, "control character"}},
		{name: "escape in a name", make: one("100644", "\x1b]0;x\x07", "x"), says: []string{"control character"}},
		{name: "tab in a name", make: one("100644", "a\tb", "x"), says: []string{"control character"}},
		{name: "text that runs backwards in a name", make: one("100644", "a\u202efdp.exe", "x"),
			says: []string{`"a\u202efdp.exe"`, "invisible or misleading"}},
		{name: "a name that is not UTF-8", make: one("100644", "caf\xe9", "x"), says: []string{`"caf\xe9"`, "not UTF-8"}},
		{name: "a name with slashes", make: one("100644", "a/../../b", "x"), says: []string{"lead out"}},
		{name: "an absolute name", make: one("100644", "/etc/passwd", "x"), says: []string{"empty"}},
		{name: "a name of two slashes", make: one("100644", "a//b", "x"), says: []string{"empty"}},
		{name: "a long name", make: one("100644", r("n", 256), "x"), says: []string{"longer than 255"}},
		{name: "a long path", make: nested(r("n", 2100), r("n", 2100)), says: []string{"longer than"}},
		{name: "a giant name", make: one("100644", r("n", 2<<20), "x"), says: []string{"1 MiB"}},
		{name: "a submodule", make: func(e *enemy) { e.main(e.with("160000", "sub", missing)) },
			says: []string{`"sub"`, "submodule"}},
		{name: "a name twice", make: func(e *enemy) {
			e.main(e.with("100644", "y", e.blob("1"), "100644", "y",
				e.blob("2")))
		}, says: []string{`"y"`, "twice"}},
		{name: "a file and a directory of one name", make: func(e *enemy) {
			e.main(e.with("100644", "y", e.blob("1"), "40000", "y", e.tree("100644", "z", e.blob("2"))))
		}, says: []string{`"y"`, "is also a file in the tree"}},
		{name: "a directory behind a link", make: func(e *enemy) {
			e.main(e.with("120000", "y", e.blob("/etc"), "40000", "y", e.tree("100644", "passwd", e.blob("2"))))
		}, says: []string{`"y"`, "is also a file in the tree"}},
		{name: "a file that is a tree", make: func(e *enemy) { e.main(e.with("100644", "y", e.tree())) },
			says: []string{"main", `"y"`}},
		{name: "a directory that is a file", make: func(e *enemy) { e.main(e.with("40000", "y", e.blob("x"))) },
			says: []string{"main"}},
		{name: "a blob that is missing", make: func(e *enemy) { e.main(e.with("100644", "y", missing)) },
			says: []string{"main", "1234567890"}},
		{name: "a tree that is missing", make: func(e *enemy) { e.main(e.with("40000", "y", missing)) },
			says: []string{"main", "1234567890"}},
		{name: "33 directories deep", make: nested(strings.Split(r("d ", 33)+"f", " ")...),
			says: []string{`"d/d/d`, "32 directories deep"}},
		{name: "1,000 directories deep", make: nested(strings.Split(r("d ", 1000)+"f", " ")...), says: []string{"deep"}},
		{name: "a million files of one blob", make: func(e *enemy) {
			e.main(e.with("40000", "w",
				wide(e, e.blob("x"), "100644")))
		}, says: []string{"50000 files", "--max-files"}},
		{name: "a million empty directories", make: func(e *enemy) {
			e.main(e.with("40000", "w",
				wide(e, e.tree(), "40000")))
		}, says: []string{"50000 files"}},
		{name: "100,000 files", make: many, says: []string{"50000 files", "--max-files 100000"}},
		{name: "a blob of 33 MiB", make: func(e *enemy) { e.main(e.with("100644", "big", giant(e, 33<<20))) },
			says: []string{`"big"`, "34603008 bytes", "--max-file-size 34MiB"}},
		{name: "a blob of 1 GiB", long: true, make: func(e *enemy) { e.main(e.with("100644", "big", giant(e, 1<<30))) },
			says: []string{`"big"`, "--max-file-size"}},
		{name: "names that differ in case", make: func(e *enemy) {
			e.main(e.with("100644", "Y", e.blob("1"), "100644", "y",
				e.blob("2")))
		}},
		{name: "a tree that is not sorted", make: func(e *enemy) {
			e.main(e.with("100644", "b", e.blob("1"), "100644", "a",
				e.blob("2")))
		}},
		{name: "odd names that are fine", make: func(e *enemy) {
			e.main(e.with("100644", "-rf", e.blob("1"), "100644", "$(touch x)`x`", e.blob("2"), "100644", "--upload-pack=x",
				e.blob("3"), "100644", "ü😀", e.blob("4")))
		}},
		{name: "modes with setuid and group", make: func(e *enemy) {
			e.main(e.with("104755", "s", e.blob("1"), "100664",
				"g", e.blob("2")))
		}},
		{name: "a link out", make: link("../../outside/secret")},
		{name: "a link to the root", make: link("/")},
		{name: "a link with NUL", make: link("a\x00b"), says: []string{`"l"`, "symbolic link"}},
		{name: "a link with a newline", make: link("a\nb"), says: []string{`"l"`, "symbolic link"}},
		{name: "a link to nothing", make: link(""), says: []string{`"l"`, "symbolic link"}},
		{name: "a giant link", make: link(r("l", 1<<20)), says: []string{`"l"`, "symbolic link"}},
		{name: "a submodule's configuration", make: one("100644", ".gitmodules",
			"[submodule \"../../x\"]\n\tpath = -u./x\n\turl = ext::touch x\n\tupdate = !touch x\n")},
		{name: "an LFS pointer", etc: lfs, make: func(e *enemy) {
			e.main(e.tree("100644", ".gitattributes", e.blob("* filter=lfs diff=lfs merge=lfs -text\n"), "100644",
				"fettle.hcl", e.blob(plainMain),
				"40000", "files", e.tree("100644", "x", e.blob(lfs))))
		}},
		{name: "export-subst, ident and encodings", etc: "$Id$ $Format:%an$\n", make: func(e *enemy) {
			e.main(e.tree("100644", ".gitattributes", e.blob("* ident export-subst working-tree-encoding=UTF-16 eol=crlf\n"),
				"100644", "fettle.hcl", e.blob(plainMain),
				"40000", "files", e.tree("100644", "x", e.blob("$Id$ $Format:%an$\n"))))
		}},
	}
	for i := range list {
		list[i].rev = "main"
	}
	return list
}

const lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// wide is a tree of ten directories that each are the same tree, six deep.
func wide(e *enemy, leaf, mode string) string {
	tree := e.tree(mode, "f", leaf)
	for range 6 {
		var entries []string
		for i := range 10 {
			entries = append(entries, "40000", fmt.Sprint(i), tree)
		}
		tree = e.tree(entries...)
	}
	return tree
}

// many has 100,000 names in 100 directories.
func many(e *enemy) {
	leaf := e.blob("x")
	var directory []string
	for i := range 1000 {
		directory = append(directory, "100644", fmt.Sprintf("f%04d", i), leaf)
	}
	tree := e.tree(directory...)
	var entries []string
	for i := range 100 {
		entries = append(entries, "40000", fmt.Sprintf("d%02d", i), tree)
	}
	e.main(e.with(entries...))
}

// giant is a blob of zeros, which git keeps small.
func giant(e *enemy, size int64) string {
	e.t.Helper()
	p := e.dir + "/giant"
	f, err := os.Create(p)
	must(e.t, err)
	must(e.t, f.Truncate(size))
	must(e.t, f.Close())
	defer os.Remove(p)
	return e.git("-c", "core.bigFileThreshold=2g", "-c", "core.compression=1", "hash-object", "-w", p)
}
