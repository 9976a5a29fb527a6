package plan

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/image"
)

// linkedFile is a file with so many names.
func linkedFile(names uint64) *image.Image {
	return new(image.Of(&image.File{Type: image.Regular, Digest: "sha256:a", Nlink: names}))
}

func linkedRegion(names uint64, text string) *image.Image {
	return new(image.Of(&image.Region{Present: true, Text: text, Nlink: names}))
}

func pathOf(t image.FileType) *image.Image { return new(image.Of(&image.File{Type: t})) }

// TestRemovesLinks: which changes may remove names of a file that has others.
func TestRemovesLinks(t *testing.T) {
	tree := new(image.Of(&image.File{Type: image.Directory, Tree: "sha256:t"}))
	noFile := new(image.Of(&image.Region{FileAbsent: true}))
	for what, c := range map[string]struct {
		change Change
		want   bool
	}{
		"a purge":               {Change{Action: Purge}, true},
		"a kept tree":           {Change{Action: Restore, To: tree}, true},
		"a file with two names": {Change{Action: Remove, From: linkedFile(2), To: pathOf(image.Absent)}, true},
		"a file with one name":  {Change{Action: Remove, From: linkedFile(1), To: pathOf(image.Absent)}, false},
		"a file that stays":     {Change{Action: Update, From: linkedFile(2), To: linkedFile(2)}, false},
		"a directory with a step": {Change{Action: Update, From: pathOf(image.Directory),
			To: pathOf(image.Absent)}, true},
		"a directory that leaves the list": {Change{Action: Remove, From: pathOf(image.Directory),
			To: pathOf(image.Absent)}, false},
		"a directory that stays": {Change{Action: Update, From: pathOf(image.Directory),
			To: pathOf(image.Directory)}, false},
		"a link with one name": {Change{Action: Update, From: pathOf(image.Symlink), To: pathOf(image.Absent)},
			false},
		"a part and its file":           {Change{Action: Remove, From: linkedRegion(2, "x"), To: noFile}, true},
		"a part and its file, one name": {Change{Action: Remove, From: linkedRegion(1, "x"), To: noFile}, false},
		"a part, and its file stays": {Change{Action: Remove, From: linkedRegion(2, "x"), To: linkedRegion(2, "")},
			false},
		"a part, later unknown":      {Change{Action: Update, From: linkedRegion(2, "x")}, false},
		"a file that becomes a part": {Change{Action: Update, From: linkedFile(2), To: noFile}, false},
		"a part that becomes nothing": {Change{Action: Update, From: linkedRegion(2, "x"), To: pathOf(image.Absent)},
			false},
		"unknown":           {Change{Action: Update}, false},
		"unknown before":    {Change{Action: Update, To: pathOf(image.Absent)}, false},
		"a part that comes": {Change{Action: Update, To: noFile}, false},
		"unknown later":     {Change{Action: Update, From: linkedFile(2)}, false},
	} {
		if got := removesLinks(c.change); got != c.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// TestSeparates: a change that gives one name of a file another content is refused, and nothing else is.
func TestSeparates(t *testing.T) {
	other := func(change func(*image.File)) *image.Image {
		i := linkedFile(2)
		change(i.File())
		return i
	}
	link := other(func(f *image.File) { f.Type = image.Symlink })
	none := func(string, []string) uint64 { return 0 }
	for what, c := range map[string]struct {
		from, to *image.Image
		names    string // in the error, "" for none
	}{
		"another content":        {linkedFile(2), other(func(f *image.File) { f.Digest = "sha256:b" }), "2 hard links"},
		"another secret":         {linkedFile(3), other(func(f *image.File) { f.Sealed = "key" }), "3 hard links"},
		"another type":           {linkedFile(2), link, "2 hard links"},
		"another mode":           {linkedFile(2), other(func(f *image.File) { f.Mode = 0o600 }), ""},
		"one name":               {linkedFile(1), other(func(f *image.File) { f.Digest = "sha256:b" }), ""},
		"its name goes":          {linkedFile(2), pathOf(image.Absent), ""},
		"a link":                 {link, other(func(f *image.File) { f.Digest = "sha256:b" }), ""},
		"a part":                 {linkedRegion(2, "x"), linkedRegion(2, "y"), "2 hard links"},
		"a part in sync":         {linkedRegion(2, "x"), linkedRegion(2, "x"), ""},
		"a part, one name":       {linkedRegion(1, "x"), linkedRegion(1, "y"), ""},
		"a part of nothing":      {linkedRegion(2, "x"), pathOf(image.Absent), ""},
		"a file, then a part":    {linkedFile(2), linkedRegion(2, "y"), ""},
		"unknown before":         {nil, linkedFile(2), ""},
		"a part, unknown before": {nil, linkedRegion(2, "y"), ""},
		"unknown later":          {linkedFile(2), nil, ""},
		"a part, unknown later":  {linkedRegion(2, "x"), nil, ""},
	} {
		m := newMaker(Input{Links: none})
		err := m.separates(Change{Addr: "file:/f", From: c.from, To: c.to})
		if (err != nil) != (c.names != "") || err != nil && !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestSeparatesOfRemovedNames: names that the plan removes before do not count.
func TestSeparatesOfRemovedNames(t *testing.T) {
	changed := linkedFile(4)
	changed.File().Digest = "sha256:b"
	for what, c := range map[string]struct {
		unlinks []string
		links   func(string, []string) uint64
		refused bool
	}{
		"nothing goes":     {nil, func(string, []string) uint64 { return 3 }, true},
		"two of three go":  {[]string{"/d"}, func(string, []string) uint64 { return 2 }, true},
		"all others go":    {[]string{"/d"}, func(string, []string) uint64 { return 3 }, false},
		"more than others": {[]string{"/d"}, func(string, []string) uint64 { return 9 }, false},
		"not known":        {[]string{"/d"}, nil, false},
		"not known, none":  {nil, nil, true},
	} {
		m := newMaker(Input{Links: c.links})
		m.unlinks = c.unlinks
		if err := m.separates(Change{Addr: "file:/f", From: linkedFile(4), To: changed}); (err != nil) != c.refused {
			t.Errorf("%s: %v", what, err)
		}
	}
}
