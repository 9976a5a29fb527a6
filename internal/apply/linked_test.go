package apply_test

import (
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// TestUndoFindsOtherName: a removed file gets its other name back, which can be in the directory of any managed path.
func TestUndoFindsOtherName(t *testing.T) {
	const remove = "RM /srv/near/a\nCOPY bad /etc/checked validate=\"check %s\"\n"
	const kept = "COPY k /srv/far/kept\n"
	for _, c := range []struct {
		before, list string
		want         bool
	}{{kept, kept + remove, true}, {kept, remove, true}, {"COPY k /srv/else/kept\n", kept + remove, true},
		{"COPY k /srv/else/kept\n", remove, false}} {
		w := newWorld(t)
		w.write(t, "/srv/near/a", "text")
		w.mkdir(t, "/srv/far")
		w.mkdir(t, "/srv/else")
		must(t, w.h.Link("/srv/near/a", "/srv/far/hard"))
		if _, err := w.apply(t, c.before, executor.Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.apply(t, c.list, executor.Options{OnFailure: "undo"}); err == nil {
			t.Fatal("the file was not rejected")
		}
		a, err := w.h.Lstat("/srv/near/a")
		must(t, err)
		hard, err := w.h.Lstat("/srv/far/hard")
		must(t, err)
		if got := a.Ino == hard.Ino; got != c.want {
			t.Errorf("%q after %q: the names are one file: %v", c.list, c.before, got)
		}
	}
}
