package content_test

import (
	"io/fs"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// readings is a disk that counts the bytes that are read from files.
type readings struct {
	host.FS
	bytes int
}

func (r *readings) Open(path string) (host.File, error) {
	f, err := r.FS.Open(path)
	return readFile{f, r}, err
}

type readFile struct {
	host.File
	of *readings
}

func (f readFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(b, off)
	f.of.bytes += n
	return n, err
}

// TestContentIsVerifiedOnce: content is read as a whole when it is first opened, and again only after its
// file has changed.
func TestContentIsVerifiedOnce(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	disk := &readings{FS: files}
	s, err := content.OpenStore(disk, "/content", 0)
	if err != nil {
		t.Fatal(err)
	}
	b := mustAdd(t, s, "some content")
	opened := func(what string, want int) {
		t.Helper()
		disk.bytes = 0
		f, err := s.Open(b)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil || disk.bytes != want {
			t.Errorf("%s: %d bytes were read, want %d; %v", what, disk.bytes, want, err)
		}
	}
	opened("at first", len("some content"))
	opened("again", 0)
	overwrite(t, files, "/content/"+hexOf("some content"), "some content")
	opened("after a change", len("some content"))
	opened("again", 0)
	if err := s.Remove(b); err != nil {
		t.Fatal(err)
	}
	mustAdd(t, s, "some content")
	opened("after it was removed", len("some content"))
}

// TestDirectoriesOfAStore: other users cannot enter the directories of a store, and files of a stopped
// process are removed. Partial downloads stay.
func TestDirectoriesOfAStore(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	if _, err := content.OpenStore(files, "/content", 0); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/content", "/content/partial", "/content/new"} {
		if st, err := files.Lstat(dir); err != nil || st.Mode != 0o700 {
			t.Errorf("%s: mode %o, %v", dir, st.Mode, err)
		}
	}
	partial := "/content/partial/" + strings.Repeat("a", 64)
	for _, name := range []string{"/content/new/1", "/content/new/x", partial} {
		f, err := files.Create(name)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := content.OpenStore(files, "/content", 0); err != nil {
		t.Fatal(err)
	}
	if names, err := files.ReadDir("/content/new"); err != nil || len(names) > 0 {
		t.Errorf("files of a stopped process: %q, %v", names, err)
	}
	if _, err := files.Lstat(partial); err != nil {
		t.Errorf("the partial download: %v", err)
	}
}

// TestDirectoryOfAStoreCannotBeMade: a disk that is full, or a directory that cannot be read, is an error.
func TestDirectoryOfAStoreCannotBeMade(t *testing.T) {
	for _, op := range []string{"mkdir /content", "mkdir /content/partial", "mkdir /content/new", "syncdir /content",
		"syncdir /", "remove /content/new/1"} {
		files := mem.NewFS(mem.Options{})
		if strings.HasPrefix(op, "remove") {
			if _, err := content.OpenStore(files, "/content", 0); err != nil {
				t.Fatal(err)
			}
			f, err := files.Create("/content/new/1")
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		var seen []string
		_, err := content.OpenStore(files.Counted(func(name, path string) error {
			if seen = append(seen, name+" "+path); name+" "+path == op {
				return fs.ErrPermission
			}
			return nil
		}), "/content", 0)
		if err == nil || !strings.Contains(err.Error(), "cannot open the store of content") {
			t.Errorf("%s: %v; operations: %q", op, err, seen)
		}
	}
}
