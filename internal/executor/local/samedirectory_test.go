package local_test

import (
	"strings"
	"testing"
)

// TestDirectoryReturns: a directory that a list replaced with a file, a link or nothing has its earlier metadata when
// a later list has it again, unless that list sets them.
func TestDirectoryReturns(t *testing.T) {
	for what, c := range map[string]struct{ between, last, want string }{
		"a file":             {"COPY 0 /t/d", "MKDIR /t/d", "dir 2750 7:7 "},
		"a link":             {"LINK a /t/d", "MKDIR /t/d", "dir 2750 7:7 "},
		"nothing":            {"RM /t/d", "MKDIR /t/d", "dir 2750 7:7 "},
		"another mode":       {"COPY 0 /t/d", "MKDIR /t/d mode=0700", "dir 0700 7:7 "},
		"with all its parts": {"RM /t/d", "MKDIR /t/d mode=0700 owner=0 group=0", "dir 0700 0:0 "},
	} {
		w := newWorld(t)
		w.mkdirs("/t/d")
		w.chown("/t/d", 7, 0o2750)
		for _, list := range []string{c.between, c.last} {
			if _, ok := w.applyLawfully(list + "\n"); !ok {
				t.Errorf("%s: %q was refused", what, list)
			}
		}
		if got := w.look()["/t/d"]; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: it is %q, want %q", what, got, c.want)
		}
	}
}

// TestBackFromLink: a rollback restores a directory with its files where a link leads to a directory that has other
// files under the same names.
func TestBackFromLink(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	lists := []string{"MKDIR /t/d\nCOPY 0 /t/d/f\n",
		"MKDIR /t/a\nMKDIR /t/a/f\nCOPY 0 /t/a/f/g\nLINK a /t/d\n"}
	var then snapshot
	for i, list := range lists {
		if _, ok := w.applyLawfully(list); !ok {
			t.Fatalf("%q was refused", list)
		}
		if i == 0 {
			then = w.look()
		}
	}
	w.goBack(1)
	if diff := differs(then, w.look(), nothing); len(diff) > 0 {
		t.Errorf("after the rollback:\n%s", strings.Join(diff, "\n"))
	}
}
