// Package edit implements EDIT: one region of a file that other programs write too. A region is a
// marked block, one line, one key and value, or one value of a document in a known format. Only
// that region is undone; changes around it stay.
//
//	EDIT /etc/hosts block=web content="10.0.0.1 web1\n"
//	EDIT /etc/ssh/sshd_config line="PermitRootLogin no" match="^#?PermitRootLogin"
//	EDIT /etc/sysctl.conf key=vm.swappiness value=10
//	EDIT /etc/docker/daemon.json key=log-opts.max-size value="\"10m\"" format=json
package edit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// maxFile is how large a file EDIT works on, in bytes: it is held in memory.
const maxFile = 16 << 20

// Edit is EDIT.
type Edit struct{}

// Observe implements verb.Verb.
func (Edit) Observe(_ context.Context, e verb.Env, s step.Step) (image.Image, error) {
	text, there, err := read(e.Host, s.Path())
	if err != nil {
		return image.Image{}, err
	}
	plain, err := revealed(e.Host, s)
	if err != nil {
		return image.Image{}, err
	}
	r, err := look(text, plain)
	if err != nil {
		return image.Image{}, err
	}
	r.FileAbsent, r.FileEmpty = !there, there && !r.Present && empty(s, text)
	if st, err := e.Host.Lstat(s.Path()); err == nil && there && st.Nlink > 1 {
		r.Nlink = st.Nlink
	}
	if r, err = concealed(e.Host, s, plain, r); err != nil {
		return image.Image{}, err
	}
	return image.Of(&r), nil
}

func read(h host.Host, p string) (text string, there bool, err error) {
	st, err := h.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist) || host.IsNotDir(err):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("cannot examine %q: %w", p, err)
	case st.Type == image.Symlink:
		target, _ := h.Readlink(p)
		return "", true, &verb.InTheWayError{Path: p,
			Err: fmt.Errorf("cannot edit %q: it is a symbolic link to %q; name that file instead", p, target)}
	case st.Type != image.Regular:
		return "", true, &verb.InTheWayError{Path: p,
			Err: fmt.Errorf("cannot edit %q: it is a %s, not a regular file", p, st.Type)}
	case st.Size > maxFile:
		return "", true, fmt.Errorf("cannot edit %q: it has %d bytes, and the limit of EDIT is %d", p, st.Size, maxFile)
	}
	f, err := unveiled(h, p).Open(p)
	if err != nil {
		return "", true, fmt.Errorf("cannot read %q: %w", p, err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", true, fmt.Errorf("cannot read %q: %w", p, err)
	}
	return string(b), true, nil
}

// Target implements verb.Verb.
func (Edit) Target(s step.Step, now image.Image, _ verb.Names) (image.Image, error) {
	r := image.Region{FileAbsent: true}
	if now.Region() != nil {
		r = *now.Region()
	}
	if r.FileAbsent && !s.Absent() && s.Get("create") != "true" {
		return image.Image{}, verb.NotYetf(addr.File(s.Path()),
			"cannot edit %q: there is no such file; add create=true, or put the step that creates it before this one", s.Path())
	}
	if why := refuse(s); why != "" {
		return image.Image{}, fmt.Errorf("cannot edit %q: %s", s.Path(), why)
	}
	if ref, secret := s.Secret(); secret && !s.Absent() {
		to := secretTarget(ref, r)
		return image.Of(&to), nil
	}
	if len(r.Encrypted) > 0 { // a region in sync is not sealed
		r = image.Region{Line: r.Line, NoEOL: r.NoEOL, FileAbsent: r.FileAbsent}
	}
	to, err := target(s, r)
	if err != nil {
		return image.Image{}, fmt.Errorf("cannot edit %q: %w", s.Path(), err)
	}
	return image.Of(&to), nil
}

// PathTarget implements verb.Pather: the whole file with the region as in to.
func (Edit) PathTarget(_ context.Context, e verb.Env, s step.Step, now capture.Taken,
	to image.Image) (image.File, error) {
	text, there, err := read(e.Host, s.Path())
	if err != nil {
		return image.File{}, err
	}
	plain, err := revealed(e.Host, s)
	if err != nil {
		return image.File{}, err
	}
	want, err := opened(e.Host, s, plain, text, *to.Region())
	if err != nil {
		return image.File{}, fmt.Errorf("cannot edit %q: %w", s.Path(), err)
	}
	next, err := change(text, plain, want)
	if err != nil {
		return image.File{}, err
	}
	switch {
	case next == "" && (to.Region().FileAbsent || !there): // also an empty file that metadata kept
		return image.File{Type: image.Absent}, nil
	case next == text:
		return now.File, nil
	}
	f := now.File
	if !there {
		f = image.File{Type: image.Regular, Mode: 0o644}
	}
	return written(e, s, f, next)
}
