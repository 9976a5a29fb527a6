package image_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/secret"
)

// TestVariants: the answers of every type. The differences are those from an unknown image.
func TestVariants(t *testing.T) {
	const key = secret.Placeholder
	sealed := secret.Ref{Key: key, Digest: "sha256:" + strings.Repeat("a", 64)}.String()
	for _, c := range []struct {
		image                     image.Image
		absent                    bool
		key, summary, differences string
	}{
		{image.Of(&image.File{Type: image.Absent}), true, "", "nothing was there", ""},
		{image.Of(&image.File{Type: image.Regular, Mode: 0o640, UID: 4, GID: 5, Size: 1536, Sealed: "k2",
			Digest: "sha256:0123456789abcdef", Attrs: 16}), false, "k2", "a file of 1.5 KiB, mode 0640",
			"type absent>file owner >kim group >staff mode >0640 content >sha256:0123456789ab"},
		{image.Of(&image.File{Type: image.Symlink, Target: "/t"}), false, "", "a link to /t",
			"type absent>link owner >root group >root target >/t"},
		{image.Of(&image.File{Type: image.Directory, Mode: 0o755, MTime: 1}), false, "", "a dir, mode 0755",
			"type absent>dir owner >root group >root mode >0755"},
		{image.Of(&image.Region{}), true, "", "nothing was there", ""},
		{image.Of(&image.Region{Present: true, Text: "a\n"}), false, "", "it was there already",
			"present no>yes text >a"},
		{image.Of(&image.Region{Present: true, Text: sealed}), false, key, "it was there already",
			"present no>yes text >secret aaaaaaaaaaaa"},
		{image.Of(&image.User{}), true, "", "nothing was there", ""},
		{image.Of(&image.User{Present: true, UID: 4, GID: 5, Home: "/h", Password: sealed}), false, key,
			"it was there already", "present no>yes home >/h password >secret aaaaaaaaaaaa"},
		{image.Of(&image.Group{}), true, "", "nothing was there", ""},
		{image.Of(&image.Group{Present: true, GID: 5}), false, "", "it was there already",
			"present no>yes gid 0>5"},
		{image.Of(&image.Member{}), true, "", "nothing was there", ""},
		{image.Of(&image.Member{Present: true}), false, "", "it was there already", "member no>yes"},
		{image.Of(&image.Package{}), true, "", "not installed", ""},
		{image.Of(&image.Package{Purged: true}), true, "", "not installed", "version not installed>purged"},
		{image.Of(&image.Package{Status: "rc"}), true, "", "not installed",
			"version not installed>removed, not purged"},
		{image.Of(&image.Package{Version: "1", Held: true}), false, "", "version 1",
			"version not installed>1 held no>yes"},
		{image.Of(&image.Unit{}), false, "", "", ""},
		{image.Of(&image.Unit{Loaded: true, State: "enabled", Active: "active", Masked: true}), false, "",
			"enabled active", "enabled no>yes masked no>yes active >active"},
		{image.Of(&image.Sysctl{Present: true, Value: "1"}), false, "", "1", ""},
		{image.Of(&image.Exec{Known: true, Done: true}), false, "", "", ""},
		{image.Image{}, false, "", "", ""},
	} {
		i := c.image
		if i.Absent() != c.absent || i.SealKey() != c.key || i.Summary() != c.summary {
			t.Errorf("%+v: absent %v, key %q, summary %q", i.Variant, i.Absent(), i.SealKey(), i.Summary())
		}
		if got := text(i.Differences(image.Image{}, names{})); got != c.differences {
			t.Errorf("%+v: differences %q, want %q", i.Variant, got, c.differences)
		}
		if got := text(i.Differences(i, names{})); got != "" && i.File() == nil {
			t.Errorf("%+v: differs from itself in %q", i.Variant, got)
		}
	}
}

// TestDifferencesOfKnown: the differences of two images of one type.
func TestDifferencesOfKnown(t *testing.T) {
	file := image.File{Type: image.Regular, Mode: 0o644, MTime: 1, Xattrs: map[string][]byte{"user.a": {1}}}
	later, labelled := file, file
	later.MTime = 2e9
	labelled.Xattrs = map[string][]byte{"user.a": {2}, "user.b": {1}}
	for _, c := range []struct {
		before, after image.Image
		want          string
	}{
		{image.Of(&file), image.Of(&later), "time 1970-01-01T00:00:00.000000001Z>1970-01-01T00:00:02Z"},
		{image.Of(&file), image.Of(&labelled), "xattrs user.a>user.a user.b (changed)"},
		{image.Of(&file), image.Of(&image.File{Type: image.Absent}), "type file>absent"},
		{image.Of(&image.User{Present: true, UID: 1, GID: 5}), image.Of(&image.User{Present: true, UID: 4}),
			"uid 1>4 group staff>root"},
		{image.Of(&image.User{Present: true, UID: 1}), image.Of(&image.User{}), "present yes>no"},
		{image.Of(&image.Package{Version: "1", Status: "iF"}), image.Of(&image.Package{Version: "1"}),
			"state half configured>installed"},
		{image.Of(&image.Package{Status: "iH"}), image.Of(&image.Package{}), "state half installed>not installed"},
		{image.Of(&image.Sysctl{Value: "1"}), image.Of(&image.Sysctl{Value: "2"}), "value 1>2"},
		{image.Of(&image.Exec{}), image.Of(&image.Exec{Done: true}), ""},
		{image.Of(&file), image.Of(&image.Group{Present: true}), "present no>yes"},
	} {
		if got := text(c.after.Differences(c.before, names{})); got != c.want {
			t.Errorf("%+v to %+v: %q, want %q", c.before.Variant, c.after.Variant, got, c.want)
		}
	}
}

func text(list []image.Difference) string {
	var out []string
	for _, d := range list {
		out = append(out, fmt.Sprintf("%s %s>%s", d.Field, d.Old, d.New))
	}
	return strings.Join(out, " ")
}
