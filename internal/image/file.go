package image

import (
	"bytes"
	"fmt"
	"maps"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/size"
)

// File is the state of a path. It does not follow a symbolic link at the end of the path.
type File struct {
	Type FileType `json:"type"`
	Mode uint32   `json:"mode,omitempty"` // the 12 permission bits
	UID  uint32   `json:"uid,omitempty"`
	GID  uint32   `json:"gid,omitempty"`
	Size int64    `json:"size,omitempty"` // bytes, regular files
	// MTime is the modification time in the form of MTimeOf; 0 means unknown. A restore sets it, but
	// Same does not compare it.
	MTime  int64  `json:"mtime,omitempty"`
	Digest string `json:"digest,omitempty"` // sha256:hex of the content, regular files
	// Sealed is the ID of the key that encrypts the content, or "" if the content has no secret.
	// Digest is then the digest of the encrypted content.
	Sealed string `json:"sealed,omitempty"`
	Target string `json:"target,omitempty"` // symbolic links
	Rdev   uint64 `json:"rdev,omitempty"`   // devices
	// Xattrs has all extended attributes, including ACLs and capabilities.
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
	// Attrs are the inode attributes of FS_IOC_GETFLAGS that a user may set.
	Attrs uint32 `json:"attrs,omitempty"`
	// Tree is the digest of the manifest of all content below a directory that was captured as a whole
	// (see Manifest). It is "" for a directory by itself.
	Tree string `json:"tree,omitempty"`
	// Entries are the names in a directory, sorted. They are set only on request.
	Entries []string `json:"entries,omitempty"`
	// Nlink is the number of hard links if it is greater than one.
	Nlink uint64 `json:"nlink,omitempty"`
}

// ModTime converts MTime to nanoseconds since 1970; known is false if it is unknown.
func (f File) ModTime() (ns int64, known bool) {
	if f.MTime == epoch {
		return 0, true
	}
	return f.MTime, f.MTime != 0
}

// File returns the state of a path, or nil if the image has another type.
func (i Image) File() *File { return as[File](i.Variant) }

func (*File) stored() string { return "file" }

// kind is "" because the addresses of a file, of its metadata and of a region have images of files.
func (*File) kind() addr.Kind { return "" }

func (*File) fresh() Variant { return new(File) }

// Same reports whether two paths are equal, except for times, link counts and entries.
func (f File) Same(other Variant) bool {
	o := as[File](other)
	if o == nil || f.Type != o.Type {
		return false
	}
	if f.Type == Absent {
		return true
	}
	if f.UID != o.UID || f.GID != o.GID || f.Target != o.Target || f.Digest != o.Digest || f.Sealed != o.Sealed ||
		f.Tree != o.Tree || f.Rdev != o.Rdev || f.Attrs != o.Attrs {
		return false
	}
	if f.Type != Symlink && f.Mode != o.Mode {
		return false
	}
	return maps.EqualFunc(f.Xattrs, o.Xattrs, bytes.Equal)
}

// Absent implements Variant.
func (f File) Absent() bool { return f.Type == Absent }

// SealKey implements Variant.
func (f File) SealKey() string { return f.Sealed }

// Summary implements Variant.
func (f File) Summary() string {
	switch f.Type {
	case Absent:
		return wasAbsent
	case Regular:
		return fmt.Sprintf("a file of %s, mode %04o", size.Rounded(f.Size), f.Mode)
	case Symlink:
		return "a link to " + f.Target
	}
	return fmt.Sprintf("a %s, mode %04o", f.Type, f.Mode)
}

// Differences implements Variant. It describes content by its digest.
func (f File) Differences(before Variant, n Names) []Difference {
	old := as[File](before)
	if old == nil {
		old = &File{Type: Absent}
	}
	var d differ
	d.add("type", string(old.Type), string(f.Type))
	if f.Type == Absent {
		return d.out
	}
	f.properties(&d, *old, n)
	if f.Same(old) && f.MTime != 0 && f.Type != Directory {
		d.add("time", timestamp(*old), timestamp(f))
	}
	if old.Type != Absent && !maps.EqualFunc(old.Xattrs, f.Xattrs, bytes.Equal) {
		d.add("xattrs", list(old.Xattrs), list(f.Xattrs)+" (changed)")
	}
	return d.out
}

// properties adds the differences of owner, mode, content and attributes. A new file has no old ones.
func (f File) properties(d *differ, old File, n Names) {
	before := func(s string) string {
		if old.Type == Absent {
			return ""
		}
		return s
	}
	d.add("owner", before(n.UserName(old.UID)), n.UserName(f.UID))
	d.add("group", before(n.GroupName(old.GID)), n.GroupName(f.GID))
	if f.Type != Symlink {
		d.add("mode", before(octal(old.Mode)), octal(f.Mode))
	}
	d.add("target", old.Target, f.Target)
	if old.Digest != f.Digest {
		d.add("content", short(old.Digest), short(f.Digest))
	}
	d.add("attrs", before(hexa(old.Attrs)), before(hexa(f.Attrs)))
}

// timestamp formats the modification time of a file for display.
func timestamp(f File) string {
	ns, _ := f.ModTime()
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}
