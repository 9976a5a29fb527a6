// Package paths implements the verbs that manage a path: MKDIR, COPY, LINK, RM, and META, which
// sets the metadata of an unmanaged path.
//
//	now, err := paths.Copy{}.Observe(ctx, env, s)
//	to, err := paths.Copy{}.Target(s, now, env.Names)
package paths

import (
	"context"
	"fmt"
	"path"
	"strconv"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// base has the common methods of these verbs: they observe the path, and use the address's own
// image as its target.
type base struct{}

// Observe implements verb.Verb.
func (base) Observe(_ context.Context, e verb.Env, s step.Step) (image.Image, error) {
	f, err := capture.Look(e.Host, s.Path(), e.Digests)
	if err != nil {
		return image.Image{}, err
	}
	return image.Of(&f), nil
}

// PathTarget implements verb.Pather: the address is the path.
func (base) PathTarget(_ context.Context, _ verb.Env, _ step.Step, _ capture.Taken,
	to image.Image) (image.File, error) {
	return *to.File(), nil
}

// ids sets owner and group from the step, or root for a new file. An existing file of the same type
// keeps its owner and group.
func ids(s step.Step, f *image.File, n verb.Names) (err error) {
	f.UID, f.GID = 0, 0
	if o := s.Get("owner"); o != "" {
		if f.UID, err = n.UID(o); err != nil {
			return err
		}
	}
	if g := s.Get("group"); g != "" {
		f.GID, err = n.GID(g)
	}
	return err
}

func mode(s step.Step, otherwise uint32) uint32 {
	if m := s.Get("mode"); m != "" {
		if v, err := strconv.ParseUint(m, 8, 12); err == nil {
			return uint32(v)
		}
	}
	return otherwise
}

// keepUnsaid keeps the owner, group and mode that a step does not set.
func keepUnsaid(s step.Step, to *image.File, now image.File) {
	if s.Get("owner") == "" {
		to.UID = now.UID
	}
	if s.Get("group") == "" {
		to.GID = now.GID
	}
	if s.Get("mode") == "" {
		to.Mode = now.Mode
	}
}

// keepExtras keeps properties that a step does not set from an existing file of the same type. File
// capabilities are dropped with their content, and an ACL's mask follows the mode.
func keepExtras(to *image.File, now image.File) {
	if now.Type != to.Type {
		return
	}
	to.Attrs = now.Attrs
	if len(now.Xattrs) == 0 {
		return
	}
	to.Xattrs = map[string][]byte{}
	for k, v := range now.Xattrs {
		if k == "security.capability" && now.Digest != to.Digest {
			continue
		}
		to.Xattrs[k] = v
	}
	if to.Type != image.Symlink {
		maskACL(to)
	}
}

// file is the file image of now; an unknown image counts as nothing there.
func file(now image.Image) image.File {
	if now.File() == nil {
		return image.File{Type: image.Absent}
	}
	return *now.File()
}

// Mkdir is MKDIR.
type Mkdir struct{ base }

// Observe lists the entries too when the step purges.
func (v Mkdir) Observe(ctx context.Context, e verb.Env, s step.Step) (image.Image, error) {
	img, err := v.base.Observe(ctx, e, s)
	if err != nil || s.Get("purge") != "true" || img.File().Type != image.Directory {
		return img, err
	}
	names, err := e.Host.ReadDir(s.Path())
	for _, n := range names {
		if !move.IsTemp(n) {
			img.File().Entries = append(img.File().Entries, n)
		}
	}
	return img, err
}

// Target implements verb.Verb.
func (Mkdir) Target(s step.Step, now image.Image, n verb.Names) (image.Image, error) {
	f := file(now)
	if f.Type == image.Symlink {
		return image.Image{},
			fmt.Errorf(
				"cannot create directory %q: the path is a symbolic link to %q; manage that path, or remove the link with RM first",
				s.Path(), f.Target)
	}
	to := image.File{Type: image.Directory, Mode: mode(s, 0o755)}
	if err := ids(s, &to, n); err != nil {
		return image.Image{}, err
	}
	if f.Type == image.Directory {
		keepUnsaid(s, &to, f)
	}
	keepExtras(&to, f)
	return image.Of(&to), nil
}

// Copy is COPY.
type Copy struct{ base }

// Target implements verb.Verb.
func (Copy) Target(s step.Step, now image.Image, n verb.Names) (image.Image, error) {
	f := file(now)
	if f.Type == image.Directory && f.Tree == "" && len(f.Entries) > 0 {
		return image.Image{},
			fmt.Errorf("cannot write file %q: the path is a directory with entries; remove it with RM first", s.Path())
	}
	to := image.File{Type: image.Regular, Mode: mode(s, 0o644), Digest: s.Blob(), Sealed: s.Get("sealed")}
	if err := ids(s, &to, n); err != nil {
		return image.Image{}, err
	}
	if f.Digest == to.Digest {
		to.Size = f.Size
	}
	keepExtras(&to, f)
	return image.Of(&to), nil
}

// Observe lists an existing directory at the path, so that Target can refuse one with entries.
func (v Copy) Observe(ctx context.Context, e verb.Env, s step.Step) (image.Image, error) {
	return v.base.observeInTheWay(ctx, e, s)
}

func (b base) observeInTheWay(ctx context.Context, e verb.Env, s step.Step) (image.Image, error) {
	img, err := b.Observe(ctx, e, s)
	if err == nil && img.File().Type == image.Directory {
		img.File().Entries, err = e.Host.ReadDir(s.Path())
	}
	return img, err
}

// Link is LINK.
type Link struct{ base }

// Observe lists a directory that is in the way.
func (v Link) Observe(ctx context.Context, e verb.Env, s step.Step) (image.Image, error) {
	return v.base.observeInTheWay(ctx, e, s)
}

// Target implements verb.Verb.
func (Link) Target(s step.Step, now image.Image, n verb.Names) (image.Image, error) {
	f := file(now)
	if f.Type == image.Directory && f.Tree == "" && len(f.Entries) > 0 {
		return image.Image{},
			fmt.Errorf("cannot create link %q: the path is a directory with entries; remove it with RM first", s.Path())
	}
	to := image.File{Type: image.Symlink, Target: s.Args[0]}
	if err := ids(s, &to, n); err != nil {
		return image.Image{}, err
	}
	keepExtras(&to, f)
	return image.Of(&to), nil
}

// Rm is RM.
type Rm struct{ base }

// Target implements verb.Verb.
func (Rm) Target(s step.Step, _ image.Image, _ verb.Names) (image.Image, error) {
	if path.Dir(s.Path()) == s.Path() {
		return image.Image{}, fmt.Errorf("cannot remove %q: it is the root", s.Path())
	}
	return image.Of(&image.File{Type: image.Absent}), nil
}
