package paths

import (
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// Meta is META. Content and all properties that the step does not name are unmanaged: they are
// never changed, also during undo.
type Meta struct{}

// Observe reads only metadata; the content is unmanaged.
func (Meta) Observe(_ context.Context, e verb.Env, s step.Step) (image.Image, error) {
	t, err := capture.Metadata(e.Host, s.Path())
	if err != nil {
		return image.Image{}, err
	}
	return image.Of(&t), nil
}

// Target implements verb.Verb.
func (Meta) Target(s step.Step, now image.Image, n verb.Names) (image.Image, error) {
	to := file(now)
	if to.Type == image.Absent {
		return image.Image{}, verb.NotYetf(addr.File(s.Path()),
			"cannot set the metadata of %q: it does not exist; META only changes existing paths, and COPY or MKDIR creates them",
			s.Path())
	}
	if err := metaOwners(s, &to, n); err != nil {
		return image.Image{}, err
	}
	if to.Type == image.Symlink {
		return image.Of(&to), nil
	}
	to.Mode = mode(s, to.Mode)
	if letters, ok := s.Lookup("attrs"); ok {
		attrs, err := parseAttrs(letters)
		if err != nil {
			return image.Image{}, err
		}
		to.Attrs = attrs
	}
	if text, ok := s.Lookup("acl"); ok {
		if err := setACL(&to, text, s.Get("mode") != "", n); err != nil {
			return image.Image{}, err
		}
	} else if to.Mode != file(now).Mode {
		maskACL(&to)
	}
	return image.Of(&to), nil
}

func metaOwners(s step.Step, to *image.File, n verb.Names) (err error) {
	if o := s.Get("owner"); o != "" {
		if to.UID, err = n.UID(o); err != nil {
			return err
		}
	}
	if g := s.Get("group"); g != "" {
		to.GID, err = n.GID(g)
	}
	return err
}

// PathTarget puts the metadata of to on the current content.
func (Meta) PathTarget(_ context.Context, _ verb.Env, s step.Step, now capture.Taken,
	to image.Image) (image.File, error) {
	if now.Type == image.Absent || to.File().Type == image.Absent {
		return now.File, nil // it was removed, and was never managed
	}
	f := now.File
	f.UID, f.GID, f.MTime = to.File().UID, to.File().GID, 0
	if f.Type != image.Symlink {
		f.Mode, f.Attrs = to.File().Mode, to.File().Attrs
	}
	f.Xattrs = to.File().Xattrs
	return f, nil
}

// attrLetters are the attributes of chattr(1) that META can set.
var attrLetters = [...]struct {
	letter rune
	flag   uint32
}{{'S', 0x8}, {'i', host.AttrImmutable}, {'a', host.AttrAppend}, {'d', 0x40}, {'A', 0x80}}

func parseAttrs(letters string) (uint32, error) {
	var flags uint32
	if letters == "-" || letters == "" {
		return 0, nil
	}
next:
	for _, c := range letters {
		for _, a := range attrLetters {
			if a.letter == c {
				flags |= a.flag
				continue next
			}
		}
		return 0, fmt.Errorf("cannot read attrs %q: %q is not one of the letters %s; write - for none", letters, c,
			knownLetters())
	}
	return flags, nil
}

func knownLetters() string {
	var b strings.Builder
	for _, a := range attrLetters {
		b.WriteRune(a.letter)
	}
	return b.String()
}
