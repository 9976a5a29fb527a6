package here

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// sender sends half of a file, and then the error.
type sender struct {
	executor.Files
	err error
}

func (s sender) Get(_ context.Context, _ string, w io.Writer) (executor.File, error) {
	_, _ = io.WriteString(w, "new")
	return executor.File{}, s.err
}

func TestFetchReplacesOnlyWithACompleteCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	to := filepath.Join(dir, "motd")
	if err := Fetch(t.Context(), sender{}, "/etc/motd", to); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("lost")
	if err := Fetch(t.Context(), sender{err: lost}, "/etc/motd", to); !errors.Is(err, lost) {
		t.Errorf("the error is %v", err)
	}
	left, _ := os.ReadDir(dir)
	if text, _ := os.ReadFile(to); string(text) != "old" || len(left) != 1 {
		t.Errorf("after a failed copy, the file is %q in a directory of %d files", text, len(left))
	}
}
