// Package capture reads the file at a path into an image. A shallow image is for comparison. A
// complete image also stores the content, and everything below, as objects, so that it can be
// restored.
//
//	now, err := capture.Look(h, "/etc/motd", nil)           // type, metadata, digest
//	img, err := capture.Take(h, store, "/etc/motd")         // and xattrs, content kept
//	ok, err := capture.Still(h, "/etc/motd", img.Stat)      // unchanged since?
package capture

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Objects stores content by digest. Content is not durable until the owner of the store syncs it.
type Objects interface {
	Put(r io.Reader) (digest string, size int64, err error)
	Open(digest string) (io.ReadCloser, int64, error)
}

// Digests caches the digest of content by the result of lstat. A nil Digests caches nothing.
type Digests interface {
	Digest(path string, st host.Stat) (digest string, ok bool)
	Remember(path string, st host.Stat, digest string)
}

// ErrChanged: the file was written while it was read.
var ErrChanged = errors.New("it changed while it was read")

// Look reads the image of a path without keeping anything: type, owner, mode,
// and for regular files the digest, which dg may know already. An absent path
// is an image too.
func Look(r host.Reader, path string, dg Digests) (image.File, error) {
	st, err := r.Lstat(path)
	if missing(err) {
		return image.File{Type: image.Absent}, nil
	}
	if err != nil {
		return image.File{}, fmt.Errorf("cannot examine %q: %w", path, err)
	}
	return lookAt(r, path, st, dg)
}

// missing reports whether an error means that the path does not exist: no entry, or a parent that
// is not a directory.
func missing(err error) bool { return errors.Is(err, fs.ErrNotExist) || host.IsNotDir(err) }

func lookAt(r host.Reader, path string, st host.Stat, dg Digests) (image.File, error) {
	f := fromStat(st)
	var err error
	switch f.Type {
	case image.Regular:
		f.Sealed = host.Sealing(r, path)
		f.Digest, err = digestOf(r, path, st, dg)
	case image.Symlink:
		f.Target, err = r.Readlink(path)
	}
	if err != nil {
		return image.File{}, fmt.Errorf("cannot read %q: %w", path, err)
	}
	return f, nil
}

func fromStat(st host.Stat) image.File {
	f := image.File{Type: st.Type, Mode: st.Mode, UID: st.UID, GID: st.GID, MTime: image.MTimeOf(st.MTime)}
	switch st.Type {
	case image.Regular:
		f.Size = st.Size
	case image.Symlink:
		f.Mode = 0
	case image.CharDev, image.BlockDev:
		f.Rdev = st.Rdev
	}
	if st.Type != image.Directory && st.Nlink > 1 {
		f.Nlink = st.Nlink
	}
	return f
}

func digestOf(r host.Reader, path string, st host.Stat, dg Digests) (string, error) {
	known := remembered(r, path)
	if dg != nil {
		if d, ok := dg.Digest(known, st); ok {
			return d, nil
		}
	}
	f, err := r.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	d := "sha256:" + hex.EncodeToString(h.Sum(nil))
	if dg != nil {
		if after, err := f.Stat(); err == nil && sameFile(st, after) {
			dg.Remember(known, st, d)
		}
	}
	return d, nil
}

// remembered returns the name under which the digest of a file is cached: its path and, if it is
// read sealed, the key after a byte that no path contains.
func remembered(r host.Reader, path string) string {
	if key := host.Sealing(r, path); key != "" {
		return path + SealedMark + key
	}
	return path
}

// SealedMark separates, in names that are passed to Digests, the path of a sealed file from the ID
// of the key.
const SealedMark = "\x00"

// sameFile reports whether two stats belong to one unchanged inode. The change time decides,
// because no program can set it.
func sameFile(a, b host.Stat) bool {
	return a.Ino == b.Ino && a.Dev == b.Dev && a.Size == b.Size && a.CTime == b.CTime && a.Type == b.Type
}

// Taken is a whole image with the stat that it was read under.
type Taken struct {
	image.File
	Stat host.Stat // zero for an absent path
	// Mounted is set if the path is a mount point, which can be written but not renamed.
	Mounted bool
}

// Take reads all data that is needed to restore the path, and puts content into store. It reads
// only a directory itself; TakeTree also reads everything below.
func Take(r host.Reader, store Objects, path string) (Taken, error) {
	st, err := r.Lstat(path)
	if missing(err) {
		return Taken{File: image.File{Type: image.Absent}}, nil
	}
	if err != nil {
		return Taken{}, fmt.Errorf("cannot examine %q: %w", path, err)
	}
	f := fromStat(st)
	if err := fill(r, store, path, st, &f); err != nil {
		return Taken{}, fmt.Errorf("cannot store the content of %q: %w", path, err)
	}
	same, err := r.SameMount(path)
	if err != nil {
		return Taken{}, fmt.Errorf("cannot examine %q: %w", path, err)
	}
	return Taken{File: f, Stat: st, Mounted: !same}, nil
}

// Whole looks again at a path with everything that Take reads, keeping nothing.
func Whole(r host.Reader, path string) (Taken, error) { return Take(r, nil, path) }

func fill(r host.Reader, store Objects, path string, st host.Stat, f *image.File) (err error) {
	if f.Xattrs, err = r.Xattrs(path); err != nil {
		return err
	}
	switch f.Type {
	case image.Regular, image.Directory:
		if f.Attrs, err = r.Attrs(path); err != nil {
			return err
		}
	}
	switch f.Type {
	case image.Symlink:
		f.Target, err = r.Readlink(path)
	case image.Regular:
		f.Sealed = host.Sealing(r, path)
		f.Digest, err = keep(r, store, path, st)
	}
	return err
}

// keep puts a file's content into store, or only hashes it when store is nil.
func keep(r host.Reader, store Objects, path string, st host.Stat) (string, error) {
	if store == nil {
		return digestOf(r, path, st, nil)
	}
	f, err := r.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var content io.Reader = f
	if host.Sealing(r, path) != "" {
		content = struct{ io.Reader }{f} // its size is the size of the file, not of the sealed content
	}
	d, _, err := store.Put(content)
	if err != nil {
		return "", err
	}
	after, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !sameFile(st, after) {
		return "", ErrChanged
	}
	return d, nil
}

// Still reports whether the path is unchanged since it was taken: the same inode, not modified.
func Still(r host.Reader, path string, t Taken) (bool, error) {
	st, err := r.Lstat(path)
	if missing(err) {
		return t.Type == image.Absent, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot examine %q: %w", path, err)
	}
	sameInode := st.Ino == t.Stat.Ino && st.Dev == t.Stat.Dev && st.Mode == t.Stat.Mode && st.UID == t.Stat.UID &&
		st.GID == t.Stat.GID
	switch {
	case t.Type == image.Directory: // our own work changes its entries
		return sameInode, nil
	case t.Nlink > 1: // other names change too, and each changes the change time
		return sameInode && st.Type == t.Stat.Type && st.Size == t.Stat.Size && st.MTime == t.Stat.MTime, nil
	}
	return sameFile(st, t.Stat), nil
}

func digestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Metadata reads everything about a path but its content.
func Metadata(r host.Reader, path string) (image.File, error) {
	st, err := r.Lstat(path)
	if missing(err) {
		return image.File{Type: image.Absent}, nil
	}
	if err != nil {
		return image.File{}, fmt.Errorf("cannot examine %q: %w", path, err)
	}
	f := fromStat(st)
	if f.Xattrs, err = r.Xattrs(path); err == nil && (f.Type == image.Regular || f.Type == image.Directory) {
		f.Attrs, err = r.Attrs(path)
	}
	if err == nil && f.Type == image.Symlink {
		f.Target, err = r.Readlink(path)
	}
	if err != nil {
		return image.File{}, fmt.Errorf("cannot read the metadata of %q: %w", path, err)
	}
	f.Size = 0
	return f, nil
}
