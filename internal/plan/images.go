package plan

import (
	"maps"
	"strconv"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// exists reports whether an observed path has an object.
func exists(f *image.File) bool { return f != nil && f.Type != image.Absent }

func isDirectory(f *image.File) bool { return f != nil && f.Type == image.Directory }

// WithEarlierMetadata returns the present image of a path with the earlier metadata that META can set. Other
// metadata, such as capabilities, belongs to the content and does not change.
func WithEarlierMetadata(now, then image.Image) image.Image {
	if now.File() == nil || then.File() == nil || now.File().Type != then.File().Type {
		return now
	}
	f := *now.File()
	f.UID, f.GID, f.Mode, f.Attrs = then.File().UID, then.File().GID, then.File().Mode, then.File().Attrs
	f.Xattrs = maps.Clone(f.Xattrs)
	delete(f.Xattrs, accessACL)
	if acl, ok := then.File().Xattrs[accessACL]; ok {
		if f.Xattrs == nil {
			f.Xattrs = map[string][]byte{}
		}
		f.Xattrs[accessACL] = acl
	}
	return image.Of(&f)
}

// accessACL is the extended attribute in which the kernel presents an access ACL.
const accessACL = "system.posix_acl_access"

// notThere returns the image that the step of a path finds if the path is absent.
func notThere(s step.Step) image.Image {
	if s.Verb == step.Edit {
		return image.Of(&image.Region{FileAbsent: true})
	}
	return image.Of(&image.File{Type: image.Absent})
}

// putBack reports whether an image is identical to an earlier captured image, including the
// modification time. The time of a directory does not count, because it depends on its entries.
func putBack(now, then image.Image) bool {
	if !now.Same(then) {
		return false
	}
	f := then.File()
	return f == nil || f.Type == image.Directory || f.MTime == 0 || now.File().MTime == f.MTime
}

// replaced reports whether a path that becomes f replaces everything below it. A directory that
// becomes absent does not, because it can contain files of others.
func replaced(f image.File) bool {
	return f.Tree != "" || f.Type != image.Directory && f.Type != image.Absent
}

// linked returns the note for a file with several hard links.
func linked(now image.Image) string {
	if f := now.File(); f != nil && f.Nlink > 1 && f.Type == image.Regular {
		return "it has " + strconv.FormatUint(f.Nlink, 10) + " hard links"
	}
	return ""
}
