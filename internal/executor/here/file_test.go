package here_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor/here"
)

func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "hello")
	if err := os.WriteFile(name, []byte("hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := here.Describe(name)
	const digest = "sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
	if err != nil || f.Size != 6 || f.Digest != digest {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := here.Describe(filepath.Join(dir, "other")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := here.Describe(dir); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}
