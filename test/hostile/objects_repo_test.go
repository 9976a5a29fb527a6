package hostile

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// loose writes bytes under an object's name as they are.
func (e *enemy) loose(id string, content []byte) {
	p := filepath.Join(e.repo, ".git/objects", id[:2], id[2:])
	_ = os.Remove(p)
	write(e.t, p, string(content), 0o444)
}

func deflated(text string) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

// objectAttacks lie about the content of objects.
func objectAttacks() []attack {
	lie := func(content func(id string) []byte) func(*enemy) {
		return func(e *enemy) {
			id := e.git("rev-parse", "main:files/x")
			e.loose(id, content(id))
		}
	}
	list := []attack{
		{name: "an object of another content", make: lie(func(string) []byte { return deflated("blob 5\x00evil\n") }),
			says: []string{"main"}},
		{name: "an object of another type", make: lie(func(string) []byte { return deflated("tree 0\x00") }),
			says: []string{"main"}},
		{name: "an object that says it is longer", long: true,
			make: lie(func(string) []byte { return deflated("blob 99999\x00short") }), says: []string{"main"}},
		{name: "an object that says it is shorter", make: lie(func(string) []byte {
			return deflated("blob 1\x00" +
				strings.Repeat("long", 1000))
		}), says: []string{"main"}},
		{name: "an object of a negative size", make: lie(func(string) []byte { return deflated("blob -1\x00x") }),
			says: []string{"main"}},
		{name: "an object of a giant size",
			make: lie(func(string) []byte { return deflated("blob 99999999999999999999\x00x") }), says: []string{"main"}},
		{name: "an object that is cut", make: lie(func(string) []byte { return deflated("blob 13\x00" + plainFile)[:9] }),
			says: []string{"main"}},
		{name: "an object that is empty", make: lie(func(string) []byte { return nil }), says: []string{"main"}},
		{name: "an object that is noise", make: lie(func(id string) []byte { return []byte(id) }), says: []string{"main"}},
		{name: "an object that unpacks to much", make: lie(func(string) []byte {
			return deflated("blob 34603008\x00" +
				strings.Repeat("\x00", 33<<20))
		}), says: []string{`"files/x"`, "--max-file-size"}},
		{name: "a pack that is flipped", make: func(e *enemy) { flipPack(e, ".pack") }, says: []string{"main"}},
		{name: "a pack whose index is flipped", make: func(e *enemy) { flipPack(e, ".idx") }, says: []string{"main"}},
		{name: "a commit without a committer", make: func(e *enemy) {
			e.raw("refs/heads/main", e.gitIn("tree "+e.with()+"\nauthor x\n\nx\n", "hash-object", "--literally", "-t",
				"commit", "-w", "--stdin")+"\n")
		}, says: []string{"committer"}},
		{name: "a commit whose tree is a blob", make: func(e *enemy) {
			e.raw("refs/heads/main", e.gitIn("tree "+e.blob("x")+"\nauthor A <a> 1 +0\ncommitter A <a> 1 +0\n\nx\n",
				"hash-object", "--literally", "-t", "commit", "-w", "--stdin")+"\n")
		}, says: []string{"main"}},
		{name: "a commit that is noise", make: func(e *enemy) {
			e.raw("refs/heads/main", e.gitIn("\x00\xff\x1b[31m", "hash-object", "--literally", "-t", "commit", "-w",
				"--stdin")+"\n")
		}, says: []string{"main"}},
		{name: "a message for terminals", make: func(e *enemy) {
			e.git("commit", "-q", "--amend", "-m", "\x1b]0;owned\x07\x1b[31mred \u202ekcab")
		}},
		{name: "an author for terminals", make: func(e *enemy) {
			e.raw("refs/heads/main", e.gitIn("tree "+e.with()+
				"\nauthor \x1b[31m\u202ered <a> 1 +0\ncommitter \x1b]0;x\x07 <a> 1 +0\n\n\x1b[2J\n", "hash-object", "--literally",
				"-t", "commit", "-w", "--stdin")+"\n")
		}},
		{name: "a message of 4 MiB", make: func(e *enemy) {
			e.raw("refs/heads/main", e.gitIn("tree "+e.with()+"\nauthor A <a> 1 +0\ncommitter A <a> 1 +0\n\n"+
				strings.Repeat("m", 4<<20), "hash-object", "--literally", "-t", "commit", "-w", "--stdin")+"\n")
		}},
		{name: "alternates that lead outside", make: func(e *enemy) {
			e.raw("objects/info/alternates", fmt.Sprintf("%s\n../../../../../../etc\n/dev/zero\n", e.outside))
		}},
		{name: "alternates that are a circle", make: func(e *enemy) {
			e.raw("objects/info/alternates",
				e.repo+"/.git/objects\n")
		}},
		{name: "a replacement of the commit", make: func(e *enemy) {
			evil := e.git("commit-tree", "-m", "evil", e.tree("100644", "fettle.hcl",
				e.blob(strings.ReplaceAll(plainMain, "/etc/x", "/etc/evil"))))
			e.raw("refs/replace/"+e.git("rev-parse", "main"), evil+"\n")
		}},
		{name: "a replacement of the blob", make: func(e *enemy) {
			e.raw("refs/replace/"+e.git("rev-parse", "main:files/x"),
				e.blob("evil")+"\n")
		}},
		{name: "grafts", make: func(e *enemy) { e.raw("info/grafts", e.git("rev-parse", "main")+" "+missing+"\n") }},
		{name: "a shallow clone's end that is a lie", make: func(e *enemy) { e.raw("shallow", missing+"\n") }},
	}
	for i := range list {
		list[i].rev = "main"
	}
	return list
}

// flipPack packs the repository and breaks the pack or its index all over.
func flipPack(e *enemy, ext string) {
	e.git("gc", "-q")
	packs, err := filepath.Glob(e.repo + "/.git/objects/pack/*" + ext)
	must(e.t, err)
	for _, p := range packs {
		b, err := os.ReadFile(p)
		must(e.t, err)
		for i := 12; i < len(b); i += 7 {
			b[i] ^= 0x55
		}
		must(e.t, os.Remove(p))
		must(e.t, os.WriteFile(p, b, 0o444))
	}
}

// refAttacks lie about names.
func refAttacks() []attack {
	return []attack{
		{name: "a name that leads to the configuration", rev: "refs/heads/../../config", make: func(*enemy) {},
			says: []string{`"refs/heads/../../config"`, ".."}},
		{name: "a name that is an option", rev: "--output=evil", make: func(*enemy) {}, says: []string{"cannot"}},
		{name: "a name that is a search", rev: ":/good", make: func(*enemy) {}, says: []string{"cannot find revision"}},
		{name: "a name that is a file", rev: "HEAD:fettle.hcl", make: func(*enemy) {},
			says: []string{"cannot find revision"}},
		{name: "a name with a newline", rev: "main\nHEAD", make: func(*enemy) {}, says: []string{"control character"}},
		{name: "packed names that lead out", rev: "main", make: func(e *enemy) {
			id := e.git("rev-parse", "main")
			e.raw("packed-refs", "# pack-refs with: peeled fully-peeled sorted \n"+id+" refs/heads/../../config\n"+id+
				" refs/heads/evil\x1b[31m\n")
		}},
		{name: "packed names that are noise", rev: "main", make: func(e *enemy) {
			must(e.t, os.Remove(e.repo+"/.git/refs/heads/main"))
			e.raw("packed-refs", "\x00\xff garbage\n")
		}, says: []string{"main"}},
		{name: "a branch that is a link out", rev: "main", make: func(e *enemy) {
			must(e.t, os.Remove(e.repo+"/.git/refs/heads/main"))
			must(e.t, os.Symlink(e.outside+"/secret", e.repo+"/.git/refs/heads/main"))
		}, says: []string{"main"}},
		{name: "a branch that names itself", rev: "main",
			make: func(e *enemy) { e.raw("refs/heads/main", "ref: refs/heads/main\n") }, says: []string{"main"}},
		{name: "a branch that is a file", rev: "main", make: func(e *enemy) { e.raw("refs/heads/main", e.blob("x")+"\n") },
			says: []string{"main"}},
		{name: "a branch of a missing commit", rev: "main", make: func(e *enemy) { e.raw("refs/heads/main", missing+"\n") },
			says: []string{"main"}},
		{name: "HEAD that leads out", make: func(e *enemy) { e.raw("HEAD", "ref: refs/heads/../../../../outside/secret\n") }},
		{name: "HEAD that is noise", make: func(e *enemy) { e.raw("HEAD", "\x00\x1b[31m") }, says: []string{"git"}},
		{name: "branch and tag of one name", rev: "twin", make: func(e *enemy) {
			e.git("branch", "twin")
			e.git("tag", "twin")
		}, says: []string{"several branches or tags"}},
	}
}
