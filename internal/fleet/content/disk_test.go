package content_test

import (
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// disk makes its n-th operation fail, from 1, including reads. 0 means none.
type disk struct {
	host.FS
	n, seen int
}

// newDisk returns a disk with the content "old", a damaged file, and a leftover file of a stopped
// process.
func newDisk(t *testing.T) *disk {
	t.Helper()
	files := mem.NewFS(mem.Options{})
	s, err := content.OpenStore(files, "/content", 0)
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, s, "old")
	mustAdd(t, s, "damaged")
	overwrite(t, files, "/content/"+hexOf("damaged"), "DAMAGED")
	f, err := files.Create("/content/new/7")
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{}
	d.FS = files.Counted(func(string, string) error { return d.next() })
	return d
}

func hexOf(text string) string { return strings.TrimPrefix(nameOf(text).Digest, "sha256:") }

func overwrite(t *testing.T, files host.FS, path, text string) {
	t.Helper()
	f, err := files.OpenWrite(path)
	if err == nil {
		_, err = f.Write([]byte(text))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (d *disk) next() error {
	if d.seen++; d.seen == d.n {
		return errDisk
	}
	return nil
}

func (d *disk) ReadDir(path string) ([]string, error) {
	if err := d.next(); err != nil {
		return nil, err
	}
	return d.FS.ReadDir(path)
}

func (d *disk) Lstat(path string) (host.Stat, error) {
	if err := d.next(); err != nil {
		return host.Stat{}, err
	}
	return d.FS.Lstat(path)
}

func (d *disk) Open(path string) (host.File, error) {
	if err := d.next(); err != nil {
		return nil, err
	}
	f, err := d.FS.Open(path)
	return diskFile{f, d}, err
}

func (d *disk) OpenAppend(path string) (host.File, error) {
	f, err := d.FS.OpenAppend(path)
	return diskFile{f, d}, err
}

type diskFile struct {
	host.File
	d *disk
}

func (f diskFile) Stat() (host.Stat, error) {
	if err := f.d.next(); err != nil {
		return host.Stat{}, err
	}
	return f.File.Stat()
}

func (f diskFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.d.next(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

func (f diskFile) Read(b []byte) (int, error) {
	if err := f.d.next(); err != nil {
		return 0, err
	}
	return f.File.Read(b)
}
