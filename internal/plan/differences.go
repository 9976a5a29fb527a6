package plan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/secret"
)

// differences describes the change from one image to another for users. It never contains file content
// or secrets: content is described by its size and digest.
func (m *index) differences(from, to image.Image) []Difference {
	var d differ
	switch {
	case to.File != nil:
		d.file(m.in.Rules, orAbsent(from.File), *to.File)
	case to.Region != nil:
		d.region(from.Region, *to.Region)
	case to.User != nil:
		d.user(m.in.Rules, from.User, *to.User)
	case to.Group != nil:
		d.group(from.Group, *to.Group)
	case to.Member != nil:
		d.add("member", yes(from.Member != nil && from.Member.Present), yes(to.Member.Present))
	case to.Package != nil:
		d.pkg(from.Package, *to.Package)
	case to.Unit != nil:
		d.unit(from.Unit, *to.Unit)
	case to.Sysctl != nil && from.Sysctl != nil:
		d.add("value", from.Sysctl.Value, to.Sysctl.Value)
	}
	return d.out
}

type differ struct{ out []Difference }

func (d *differ) add(field, before, after string) {
	if before != after {
		d.out = append(d.out, Difference{field, before, after})
	}
}

func orAbsent(f *image.File) image.File {
	if f == nil {
		return image.File{Type: image.Absent}
	}
	return *f
}

func (d *differ) file(r Rules, f, t image.File) {
	d.add("type", string(f.Type), string(t.Type))
	if t.Type == image.Absent {
		return
	}
	fresh := f.Type == image.Absent
	name := func(s string) string {
		if fresh {
			return ""
		}
		return s
	}
	d.add("owner", name(r.UserName(f.UID)), r.UserName(t.UID))
	d.add("group", name(r.GroupName(f.GID)), r.GroupName(t.GID))
	if t.Type != image.Symlink {
		d.add("mode", name(octal(f.Mode)), octal(t.Mode))
	}
	d.add("target", f.Target, t.Target)
	if f.Digest != t.Digest {
		d.add("content", short(f.Digest), short(t.Digest))
	}
	d.add("attrs", name(hexa(f.Attrs)), name(hexa(t.Attrs)))
	if f.Same(t) && t.MTime != 0 && t.Type != image.Directory {
		d.add("time", stamp(f), stamp(t))
	}
	if !fresh && !maps.EqualFunc(f.Xattrs, t.Xattrs, bytes.Equal) {
		d.add("xattrs", list(f.Xattrs), list(t.Xattrs)+" (changed)")
	}
}

// stamp formats the modification time of a file for display.
func stamp(f image.File) string {
	ns, _ := f.ModTime()
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}

func octal(m uint32) string { return fmt.Sprintf("%04o", m) }

func hexa(v uint32) string { return "0x" + strconv.FormatUint(uint64(v), 16) }

func list(x map[string][]byte) string { return strings.Join(slices.Sorted(maps.Keys(x)), " ") }

// short shortens a digest for display.
func short(d string) string {
	if len(d) > 19 {
		return d[:19]
	}
	return d
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (d *differ) region(f *image.Region, t image.Region) {
	var old image.Region
	if f != nil {
		old = *f
	}
	d.add("present", yes(old.Present), yes(t.Present))
	d.add("text", shown(old.Text), shown(t.Text))
}

// shown returns a text for display; a secret is replaced by a description.
func shown(text string) string {
	if ref, is := secret.ParseRef(text); is {
		return "secret " + strings.TrimPrefix(ref.Digest, "sha256:")[:12]
	}
	return strings.TrimSuffix(text, "\n")
}

func (d *differ) user(r Rules, f *image.User, t image.User) {
	var old image.User
	if f != nil {
		old = *f
	}
	d.add("present", yes(old.Present), yes(t.Present))
	if !t.Present {
		return
	}
	if old.Present {
		d.add("uid", number(old.UID), number(t.UID))
		d.add("group", r.GroupName(old.GID), r.GroupName(t.GID))
	}
	d.add("home", old.Home, t.Home)
	d.add("shell", old.Shell, t.Shell)
	d.add("comment", old.Comment, t.Comment)
	d.add("password", shown(old.Password), shown(t.Password))
}

func number(n uint32) string { return strconv.FormatUint(uint64(n), 10) }

func (d *differ) group(f *image.Group, t image.Group) {
	var old image.Group
	if f != nil {
		old = *f
	}
	d.add("present", yes(old.Present), yes(t.Present))
	if t.Present && t.GID != 0 {
		d.add("gid", number(old.GID), number(t.GID))
	}
}

func (d *differ) pkg(f *image.Package, t image.Package) {
	var old image.Package
	if f != nil {
		old = *f
	}
	d.add("version", versionOf(old), versionOf(t))
	d.add("held", yes(old.Held), yes(t.Held))
	if (old.Unfinished() || old.Leaving()) && t.Version != "" {
		d.add("state", old.Condition(), "installed")
	} else if old.Unfinished() && old.Version == "" {
		d.add("state", old.Condition(), "not installed")
	}
}

// versionOf returns the version of a package, or describes its absence.
func versionOf(p image.Package) string {
	switch {
	case p.Purged:
		return "purged"
	case p.Rest():
		return "removed, not purged"
	case p.Version == "":
		return "not installed"
	}
	return p.Version
}

func (d *differ) unit(f *image.Unit, t image.Unit) {
	var old image.Unit
	if f != nil {
		old = *f
	}
	d.add("enabled", yes(old.Enabled()), yes(t.Enabled()))
	d.add("masked", yes(old.Masked), yes(t.Masked))
	d.add("active", old.Active, t.Active)
}
