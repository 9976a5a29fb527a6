package plan

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// TestOurLink: a directory that replaces a link of an earlier list starts from nothing; other links are in the way.
func TestOurLink(t *testing.T) {
	link := image.Of(&image.File{Type: image.Symlink, Target: "/x"})
	for what, c := range map[string]struct {
		step, old string
		now       image.Image
		adopted   bool
		ours      bool
	}{
		"our link":             {"MKDIR /l", "LINK /x /l", link, false, true},
		"a link that drifted":  {"MKDIR /l", "LINK /y /l", link, false, false},
		"an adopted link":      {"MKDIR /l", "LINK /x /l", link, true, false},
		"a file before":        {"MKDIR /l", "RM /l", link, false, false},
		"a step of a link":     {"LINK /z /l", "LINK /x /l", link, false, false},
		"a directory by now":   {"MKDIR /l", "LINK /x /l", *pathOf(image.Directory), false, false},
		"not known":            {"MKDIR /l", "LINK /x /l", image.Image{}, false, false},
		"a removal of a link":  {"RM /l", "LINK /x /l", link, false, false},
		"our link, and a file": {"MKDIR /l", "LINK /x /l", *pathOf(image.Regular), false, false},
	} {
		m, e := planner(c.step), entryOf(c.old, pathOf(image.Absent))
		m.in.Rules = links{}
		if c.adopted {
			e.Origin = nil
		}
		got := m.withoutOurLink(parse(c.step), c.now, e)
		if ours := got.File() != nil && got.Absent(); ours != c.ours || !ours && got.File() != c.now.File() {
			t.Errorf("%s: %+v", what, got.File())
		}
	}
}

// TestLeaving: the paths in a directory that goes come before the directory, the deepest first.
func TestLeaving(t *testing.T) {
	gone := pathOf(image.Absent)
	m := planner()
	m.in.Applied.Entries = []journal.Entry{
		entryOf("RM /d/a/f", gone), entryOf("MKDIR /d/a", gone), entryOf("RM /d/back", pathOf(image.Regular)),
		entryOf("RM /d/g", gone),
		entryOf("RM /e", gone), entryOf("PKG web", gone), entryOf("MKDIR /d", gone),
	}
	var got []addr.Addr
	for _, e := range m.removals.leaving() {
		got = append(got, e.Addr)
	}
	want := []addr.Addr{"file:/d/a/f", "file:/d/g", "file:/d/a", "file:/d", "pkg:web", "file:/e", "file:/d/back"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSwallowed: a path goes or comes with a directory above it that is replaced.
func TestSwallowed(t *testing.T) {
	m := planner().rollsBack()
	m.in.ForeignPaths = map[string]string{"/foreign": "f", "/tree": "f", "/link": "f"}
	m.in.Goal.FilesBefore = map[string]image.File{"/gone": {Type: image.Absent}, "/foreign": {Type: image.Absent},
		"/dir":  {Type: image.Directory},
		"/tree": {Type: image.Directory, Tree: "t"}, "/link": {Type: image.Symlink}}
	for p, swallowed := range map[string]bool{"/gone/f": true, "/gone/a/b": true, "/foreign/f": false, "/dir/f": false,
		"/tree/f": true,
		"/link/f": true, "/gone": false, "/other/f": false} {
		if m.swallowed(p) != swallowed {
			t.Errorf("%s is swallowed: %t", p, !swallowed)
		}
	}
}

// links are rules of links: the step says the target.
type links struct{ fixed }

func (links) Target(s step.Step, _ image.Image) (image.Image, error) {
	if s.Verb != step.Link {
		return *pathOf(image.Symlink), nil
	}
	return image.Of(&image.File{Type: image.Symlink, Target: s.Args[0]}), nil
}
