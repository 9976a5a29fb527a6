package repo

import (
	"strings"
	"testing"
	"unicode"
)

func TestParseRecordLimits(t *testing.T) {
	const id = "1234567890123456789012345678901234567890"
	for line, want := range map[string]string{
		"100644 blob " + id + " 2147483649\tbig": "the limit is 32MiB",
		"100644 blob " + id + " x\ty":            "git answered",
		"junk":                                   "git answered",
		"100600 blob " + id + " 1\tf":            "its mode is 100600",
		"100644 tree " + id + " -\tf":            "it is a file, but it is a tree",
		"160000 commit " + id + " -\tsub":        "submodule",
	} {
		tr := treeReader{tally: tally{limits: Limits{}.filled()}, directories: map[string]bool{}}
		err := tr.add(line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

// For any commit, listing or error of git, the result is safe for a terminal and inside the tree.
func FuzzForeignText(f *testing.F) {
	f.Add("tree x\nauthor A <a@b> 1 +0\ncommitter C <c@d> 2 +0\n\nsubject\n")
	f.Add("100644 blob 1234567890123456789012345678901234567890 3\ta/../b")
	f.Add("fatal: \x1b]0;x\x07")
	f.Fuzz(func(t *testing.T, text string) {
		rev, _ := parseCommit("id", text)
		id, file := parseBlame(text)
		_, _ = id, file
		for _, s := range []string{rev.Subject, rev.Author, condense(text)} {
			if strings.IndexFunc(s, unicode.IsControl) >= 0 || len(s) > 210 {
				t.Errorf("%q", s)
			}
		}
		tr := treeReader{tally: tally{limits: Limits{}.filled()}, directories: map[string]bool{}}
		if tr.add(text) == nil {
			for _, n := range tr.nodes {
				if c, err := cleanPath("x", n.Path); err != nil || c != n.Path {
					t.Errorf("%q", n.Path)
				}
			}
		}
		if _, err := listedName(text); err == nil && checkRev(text) == nil && strings.HasPrefix(text, "-") {
			t.Errorf("%q", text)
		}
	})
}
