package content

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"testing"
)

// TestCommitIsReadInOneWay: each used header occurs once and in order. The signature is not a part
// of the signed text.
func TestCommitIsReadInOneWay(t *testing.T) {
	n, err := namingOf(strings.Repeat("0", 40))
	if err != nil {
		t.Fatal(err)
	}
	tree := "tree " + strings.Repeat("a", 40) + "\n"
	author, committer := "author Ann <a@x> 5 +0000\n", "committer Bob <b@x> 1700000000 +0100\n"
	good := tree + author + committer
	parent := "parent " + strings.Repeat("b", 40) + "\n"
	sig := "gpgsig -----BEGIN\n line\n"
	for name, c := range map[string]struct {
		raw  string
		says string // "" if it is valid
	}{
		"plain":    {good + "\nsubject\nbody\n", ""},
		"signed":   {good + sig + "\nsubject\nbody\n", ""},
		"a parent": {tree + parent + author + committer + "\nsubject\nbody\n", ""},
		"two parents": {tree + parent + strings.Replace(parent, "b", "c",
			1) + author + committer + "\nsubject\nbody\n", ""},
		"a short parent":              {tree + "parent x\n" + author + committer + "\ns", "an invalid parent"},
		"a late parent":               {tree + author + parent + committer + "\ns", "an invalid parent"},
		"a parent behind a signature": {tree + sig + parent + author + committer + "\ns", "an invalid parent"},
		"a parent that continues":     {tree + parent + " x\n" + parent + author + committer + "\ns", "cannot be read"},
		"a tree that continues":       {tree + " x\n" + parent + author + committer + "\ns", "cannot be read"},
		"another header":              {good + "encoding x\n more\n\nsubject\nbody\n", ""},
		"blank lines before":          {good + "\n\n\nsubject\nbody\n", ""},
		"no message":                  {strings.TrimSuffix(good, "\n"), "cannot be read"},
		"zero byte":                   {tree + "author A\x00 <a> 5 +0\n" + committer + "\ns", "cannot be read"},
		"a tree later":                {author + tree + committer + "\ns", "does not begin with its tree"},
		"two trees":                   {tree + tree + author + committer + "\ns", "the header tree 2 times"},
		"no author":                   {tree + committer + "\ns", "the header author 0 times"},
		"two committers":              {good + committer + "\ns", "the header committer 2 times"},
		"two signatures":              {good + sig + sig + "\ns", "two signatures"},
		"another signature":           {good + "gpgsig-sha256 x\n\ns", "a signature of another kind"},
		"continues nothing":           {" x\n" + good + "\ns", "cannot be read"},
		"no value":                    {good + "x\n\ns", "a header that cannot be read"},
		"no name":                     {good + "\tx y\n\ns", ""},
		"a short tree": {"tree " + strings.Repeat("a", 39) + "\n" + author + committer + "\ns",
			"no valid tree"},
		"a tree in capitals": {"tree " + strings.Repeat("A", 40) + "\n" + author + committer + "\ns",
			"no valid tree"},
		"no time":                  {tree + author + "committer Bob <b@x>\n\ns", "no valid time"},
		"a time before 1970":       {tree + author + "committer Bob <b@x> -1 +0000\n\ns", "no valid time"},
		"no zone":                  {tree + author + "committer Bob <b@x> 5\n\ns", "no valid time"},
		"a time that is no number": {tree + author + "committer Bob <b@x> x +0000\n\ns", "no valid time"},
		"too large":                {good + "\n" + strings.Repeat("x", maxCommit), "cannot be read"},
	} {
		got, err := n.parseCommit([]byte(c.raw))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil || !strings.HasSuffix(c.raw, "\nsubject\nbody\n") {
			continue
		}
		if got.tree != strings.Repeat("a", 40) || got.author != "Ann <a@x>" || got.time != 1_700_000_000 ||
			got.subject != "subject" || string(got.payload) != strings.Replace(c.raw, sig, "", 1) {
			t.Errorf("%s: %+v", name, got)
		}
		if want := map[bool]string{true: "-----BEGIN\nline\n"}[name == "signed"]; string(got.signature) != want {
			t.Errorf("%s: signature %q", name, got.signature)
		}
	}
	most := good + "\n" + strings.Repeat("x", maxCommit-len(good)-1)
	if c, err := n.parseCommit([]byte(most)); err != nil || len(c.subject) != 200 {
		t.Errorf("as large as it may be: %d, %v", len(c.subject), err)
	}
	if got := printable("a\tb\xffc\u200bd"); got != "a b?c d" {
		t.Errorf("%q", got)
	}
}

// TestTreeIsReadInOneWay: only the form that git writes is accepted.
func TestTreeIsReadInOneWay(t *testing.T) {
	n, err := namingOf(strings.Repeat("0", 40))
	if err != nil {
		t.Fatal(err)
	}
	id := strings.Repeat("\x01", 20)
	e := func(mode, name string) string { return mode + " " + name + "\x00" + id }
	for name, c := range map[string]struct {
		raw, says string
	}{
		"empty":                 {"", ""},
		"all modes":             {e("100644", "a") + e("100755", "b") + e("120000", "c") + e("40000", "d"), ""},
		"a directory by slash":  {e("100644", "a.x") + e("40000", "a") + e("100644", "a0"), ""},
		"a file before a dot":   {e("100644", "a") + e("100644", "a.x"), ""},
		"not in order":          {e("100644", "b") + e("100644", "a"), "in the wrong order"},
		"directory out of line": {e("40000", "a") + e("100644", "a.x"), "in the wrong order"},
		"twice":                 {e("100644", "a") + e("100644", "a"), "twice"},
		"a file and directory":  {e("100644", "a") + e("100644", "a.b") + e("40000", "a"), "twice"},
		"a submodule":           {e("160000", "a"), "has the mode"},
		"a leading zero":        {e("040000", "a"), "has the mode"},
		"no name":               {e("100644", ""), "with the invalid name"},
		"a slash":               {e("100644", "a/b"), "with the invalid name"},
		"cut in its id":         {e("100644", "a")[:27], "in the middle"},
		"cut in its name":       {"100644 a", "in the middle"},
		"no blank":              {"100644\x00" + id, "in the middle"},
	} {
		out, err := n.parseTree([]byte(c.raw))
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && n.tree(out) != n.object("tree", []byte(c.raw)) {
			t.Errorf("%s: another object comes out", name)
		}
	}
	sum := sha1.Sum([]byte("blob 3\x00abc"))
	if got := n.object("blob", []byte("abc")); got != hex.EncodeToString(sum[:]) {
		t.Errorf("object %s", got)
	}
	for name, size := range map[string]int{strings.Repeat("a", 40): 20, strings.Repeat("a", 64): 32,
		strings.Repeat("a", 41): 0, strings.Repeat("g", 40): 0, "": 0} {
		if n, err := namingOf(name); n.size != size || (err == nil) != (size > 0) {
			t.Errorf("%s: %d, %v", name, n.size, err)
		}
	}
	for p, want := range map[string][2]string{"a": {"", "a"}, "a/b": {"a", "b"}, "a/b/c": {"a/b", "c"}} {
		if dir, name := splitPath(p); dir != want[0] || name != want[1] {
			t.Errorf("%s: %q %q", p, dir, name)
		}
	}
}
