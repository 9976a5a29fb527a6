package plan

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// pathChange returns the change of a path from one type to another.
func pathChange(p string, from, to image.FileType) Change {
	c := Change{Action: Restore, Addr: addr.File(p), Applied: step.Step{Verb: step.Mkdir, Args: []string{p}}}
	c.From, c.To = new(image.Of(&image.File{Type: from})), new(image.Of(&image.File{Type: to}))
	return c
}

func line(p string, from, to image.Region) Change {
	c := Change{Action: Restore, Addr: addr.New(addr.KindEdit, p+"#line:x")}
	c.From, c.To = new(image.Of(&from)), new(image.Of(&to))
	return c
}

// TestOrderOfPaths: directories come before the objects in them, and go after them. Other changes keep their order.
func TestOrderOfPaths(t *testing.T) {
	const absent, dir, file = image.Absent, image.Directory, image.Regular
	unit := Change{Action: Restore, Addr: "unit:x"}
	whole := pathChange("/d", dir, absent)
	whole.Applied = step.Step{Verb: step.Rm, Args: []string{"/d"}}
	none := line("/d/g", image.Region{Present: true}, image.Region{FileAbsent: true})
	adopt := pathChange("/d/f", absent, file)
	adopt.Action = Adopt
	for name, c := range map[string]struct {
		in   []Change
		want []int
	}{
		"restored directories": {[]Change{pathChange("/d/e/f", absent, file), unit, pathChange("/d/e", absent, dir),
			pathChange("/d", absent, dir)}, []int{1, 3, 2, 0}},
		"a part of a file": {[]Change{line("/d/f", image.Region{FileAbsent: true}, image.Region{Present: true}),
			pathChange("/d", file, dir)}, []int{1, 0}},
		"a directory that stays": {[]Change{pathChange("/d/f", absent, file), pathChange("/d", dir, dir)}, []int{0, 1}},
		"another directory":      {[]Change{pathChange("/df", absent, file), pathChange("/d", absent, dir)}, []int{0, 1}},
		"an adopted path":        {[]Change{adopt, pathChange("/d", absent, dir)}, []int{0, 1}},
		"removed directories": {[]Change{pathChange("/d", dir, absent), unit, pathChange("/d/e", dir, absent),
			pathChange("/d/e/f", file, absent), none}, []int{1, 3, 2, 4, 0}},
		"a file in place of a directory": {[]Change{pathChange("/d", dir, file), pathChange("/d/e", dir, absent)},
			[]int{1, 0}},
		"a file in place of a directory that others use": {[]Change{pathChange("/d", dir, file), unit}, []int{0, 1}},
		"a removal with all content":                     {[]Change{whole, pathChange("/d/f", file, absent)}, []int{0, 1}},
		"a file in a removed directory": {[]Change{pathChange("/d", dir, absent), pathChange("/d/f", absent, file)},
			[]int{0, 1}},
		"a removed file": {[]Change{pathChange("/d", file, absent), pathChange("/d/f", file, absent)}, []int{0, 1}},
	} {
		var got []int
		for _, out := range inOrder(c.in) {
			got = append(got, slices.IndexFunc(c.in, func(in Change) bool { return in.Addr == out.Addr }))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: the order is %v, want %v", name, got, c.want)
		}
	}
}
