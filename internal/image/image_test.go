package image_test

import (
	"testing"

	"fettle.dev/fettle/internal/image"
)

func TestSame(t *testing.T) {
	file := image.File{Type: image.Regular, Mode: 0o644, UID: 1, GID: 2, Digest: "d", MTime: 5,
		Xattrs: map[string][]byte{"user.a": []byte("x")}}
	with := func(change func(*image.File)) image.Image {
		f := file
		change(&f)
		return image.Of(&f)
	}
	same := image.Of(&file)
	for name, c := range map[string]struct {
		other image.Image
		want  bool
	}{
		"time":       {with(func(f *image.File) { f.MTime = 9 }), true},
		"link count": {with(func(f *image.File) { f.Nlink = 2 }), true},
		"entries":    {with(func(f *image.File) { f.Entries = []string{"a"} }), true},
		"mode":       {with(func(f *image.File) { f.Mode = 0o600 }), false},
		"owner":      {with(func(f *image.File) { f.UID = 9 }), false},
		"content":    {with(func(f *image.File) { f.Digest = "e" }), false},
		"xattr":      {with(func(f *image.File) { f.Xattrs = map[string][]byte{"user.a": []byte("y")} }), false},
		"no xattr":   {with(func(f *image.File) { f.Xattrs = nil }), false},
		"attrs":      {with(func(f *image.File) { f.Attrs = 16 }), false},
		"type":       {with(func(f *image.File) { f.Type = image.Directory }), false},
		"tree":       {with(func(f *image.File) { f.Tree = "t" }), false},
		"family":     {image.Of(&image.Member{}), false},
		"unknown":    {image.Image{}, false},
	} {
		if same.Same(c.other) != c.want || c.other.Same(same) != c.want {
			t.Errorf("another %s: want same=%v, both ways", name, c.want)
		}
	}
	if !(image.Image{}).Same(image.Image{}) || (image.Image{}).Known() {
		t.Error("what is unknown is the same as itself, and not known")
	}
	absent := image.Of(&image.File{Type: image.Absent})
	if !absent.Same(image.Of(&image.File{Type: image.Absent, Mode: 0o644})) {
		t.Error("nothing is nothing, whatever else is said")
	}
}

// TestRemainsInASentence: one thing stays, two things stay.
func TestRemainsInASentence(t *testing.T) {
	conf, data := []string{"/etc/a", "/etc/b"}, []string{"/var/lib/a"}
	for want, r := range map[string]image.Remains{
		"configuration in /etc/a, /etc/b stays it":                         {Conffiles: conf},
		"data in /var/lib/a stays it":                                      {Dirs: data},
		"configuration in /etc/a, /etc/b and data in /var/lib/a stay them": {Conffiles: conf, Dirs: data},
	} {
		if stay, it := r.Stay(); r.String()+" "+stay+" "+it != want {
			t.Errorf("%s %s %s, want %s", r, stay, it, want)
		}
	}
}
