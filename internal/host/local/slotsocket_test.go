package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSocketInDirectory: a socket works below a path of any length, and after an earlier process left its socket. No
// connection uses a directory or a socket to which other users can write.
func TestSocketInDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := DialIn(t.Context(), dir, "s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a socket: %v", err)
	}
	echo := func(_ context.Context, c io.ReadWriteCloser) {
		defer c.Close()
		_, _ = io.Copy(c, io.LimitReader(c, 2))
	}
	for range 2 {
		end, err := ListenIn(t.Context(), dir, "s", echo)
		if err != nil {
			t.Fatal(err)
		}
		c, err := DialIn(t.Context(), dir, "s")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("hi")); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(c); string(got) != "hi" || err != nil {
			t.Errorf("the answer is %q: %v", got, err)
		}
		_ = c.Close()
		if err := os.Chmod(filepath.Join(dir, "s"), 0o622); err != nil {
			t.Fatal(err)
		}
		if _, err := DialIn(t.Context(), dir, "s"); !errors.Is(err, ErrForeign) {
			t.Errorf("others can write to the socket: %v", err)
		}
		end()
	}
	if err := os.Chmod(filepath.Join(dir, "s"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := DialIn(t.Context(), dir, "s"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no process listens: %v", err)
	}
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenIn(t.Context(), dir, "s", echo); !errors.Is(err, ErrForeign) {
		t.Errorf("others can write to the directory: %v", err)
	}
}

// TestSinceBoot: the clock advances.
func TestSinceBoot(t *testing.T) {
	if a := SinceBoot(); a <= 0 || SinceBoot() < a {
		t.Error("the clock does not advance")
	}
}
