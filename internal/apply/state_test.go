package apply

import (
	"testing"

	"fettle.dev/fettle/internal/image"
)

// TestHardLinksOfAPart: if a directory of a stored tree is restored alone, names of an inode in this directory stay
// linked, and a name outside of it becomes a file of its own.
func TestHardLinksOfAPart(t *testing.T) {
	for same, want := range map[string]string{"sub/a": "a", "sub/deep/a": "deep/a", "a": "", "subs/a": "", "sub": "",
		"": ""} {
		if got := cutSame([]byte(same), "sub"); string(got) != want || (got == nil) != (want == "") {
			t.Errorf("%q: %q", same, got)
		}
	}
}

// TestSameTime: a path is restored only if it has the recorded modification time; a recorded path without a time
// has every time.
func TestSameTime(t *testing.T) {
	at := func(mtime int64) image.Image { return image.Of(&image.File{MTime: mtime}) }
	for _, c := range []struct {
		now, to image.Image
		want    bool
	}{{at(5), at(5), true}, {at(5), at(6), false}, {at(5), at(0), true}, {at(5), image.Image{}, true}} {
		if got := sameTime(c.now, c.to); got != c.want {
			t.Errorf("%+v, %+v: %t", c.now.File(), c.to.File(), got)
		}
	}
}
