package apply

import (
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
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

// TestOriginOfARemoval: the origin of a path that must be absent is the object that a run removed, and not the older
// object that a rollback left to others there. Otherwise the adopted image is the origin.
func TestOriginOfARemoval(t *testing.T) {
	file := func(hash string) image.Image { return image.Of(&image.File{Type: image.Regular, Digest: hash}) }
	older, newer, absent := file("older"), file("newer"), image.Of(&image.File{Type: image.Absent})
	for _, c := range []struct {
		step          string
		adopted, want image.Image
	}{{"RM /a", older, newer}, {"RM /a", absent, absent}, {"COPY c /a", older, older}} {
		s, err := step.ParseLine(c.step)
		if err != nil {
			t.Fatal(err)
		}
		change := plan.Change{Addr: s.Addr(), Step: s.Stored()}
		r := &successor{&run{plan: &plan.Plan{Changes: []plan.Change{change}}, effects: []effect{{from: newer}}}}
		got := r.originAfter(nil, 0, journal.Entry{Addr: s.Addr(), Adopted: &c.adopted}, true)
		if got == nil || !got.Same(c.want) {
			t.Errorf("%s, adopted %+v: the origin is %+v", c.step, c.adopted.File(), got.File())
		}
	}
}
