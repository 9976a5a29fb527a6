package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
)

// held is a lock as another process holds it.
func held(t *testing.T, root, holder string) *os.File {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(holder + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLockOfTheDead: a lock is refused at once while its holder lives, and waited
// for while what a dead holder forked has it still.
func TestLockOfTheDead(t *testing.T) {
	root := t.TempDir()
	h := open(t, root, local.Options{})
	alive := fmt.Sprintf("fettle apply (process %d) by root", os.Getpid())
	f := held(t, root, alive)
	var locked *host.LockedError
	if _, err := h.Lock("/lock", "me"); !errors.As(err, &locked) || locked.Holder != alive {
		t.Errorf("of the living: %v", err)
	}
	f.Close()
	const nobody = 1<<22 + 7 // above the largest number that Linux gives
	f = held(t, root, fmt.Sprintf("fettle apply (process %d) by root", nobody))
	time.AfterFunc(30*time.Millisecond, func() { f.Close() })
	l, err := h.Lock("/lock", "me")
	if err != nil {
		t.Fatalf("of the dead: %v", err)
	}
	l.Close()
}
