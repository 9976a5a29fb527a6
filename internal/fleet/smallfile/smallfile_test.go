package smallfile_test

import (
	"errors"
	"io/fs"
	"testing"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host/mem"
)

func TestOldOrNew(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	if err := errors.Join(smallfile.Directory(files, "/var/lib/x"), smallfile.Directory(files, "/var/lib/x")); err != nil {
		t.Fatal(err)
	}
	const file = "/var/lib/x/f"
	if _, err := smallfile.Read(files, file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is not there: %v", err)
	}
	if err := errors.Join(smallfile.Make(files, file, []byte("one")),
		smallfile.Write(files, file, []byte("two"))); err != nil {
		t.Fatal(err)
	}
	if err := smallfile.Make(files, file, []byte("three")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one is made: %v", err)
	}
	if b, err := smallfile.Read(files, file); err != nil || string(b) != "two" {
		t.Errorf("%q, %v", b, err)
	}
	if err := errors.Join(smallfile.Remove(files, file), smallfile.Remove(files, file)); err != nil {
		t.Error(err)
	}
}
