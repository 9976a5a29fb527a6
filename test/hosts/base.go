package hosts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// Base returns the root folder of the base image that all hosts share. It is
// built at most once a recipe and must not be written to.
func Base(t testing.TB) string {
	t.Helper()
	Require(t)
	base, err := ensureBase()
	if err != nil {
		t.Fatal(err)
	}
	return base.tree()
}

// base is the folder of a complete base image.
type base string

// tree is the root folder of a host; pool holds .deb files.
func (b base) tree() string { return filepath.Join(string(b), "tree") }
func (b base) pool() string { return filepath.Join(string(b), "pool") }

// ensureBase returns the base image and builds it if the cache lacks it. Of
// several processes one builds and the others wait.
func ensureBase() (base, error) {
	r := newRecipe()
	digest, err := r.digest()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cacheDir(), 0o755); err != nil {
		return "", fmt.Errorf("cannot create the cache: %w", err)
	}
	dir := filepath.Join(cacheDir(), "base-"+digest)
	if exists(dir) {
		return base(dir), nil
	}
	held, err := lock(dir+".lock", syscall.LOCK_EX)
	if err != nil {
		return "", err
	}
	defer held.Close()
	if exists(dir) {
		return base(dir), nil
	}
	return base(dir), buildBase(r, base(dir))
}

// buildBase builds into a folder beside dir and renames it when it is whole.
func buildBase(r recipe, dir base) error {
	unfinished := base(dir + ".unfinished")
	if err := os.RemoveAll(string(unfinished)); err != nil {
		return fmt.Errorf("cannot remove an unfinished base image: %w", err)
	}
	if err := os.MkdirAll(unfinished.pool(), 0o755); err != nil {
		return fmt.Errorf("cannot create a base image: %w", err)
	}
	if err := bootstrap(r.argv(unfinished.tree(), unfinished.pool())); err != nil {
		os.RemoveAll(string(unfinished))
		return err
	}
	if err := os.Rename(string(unfinished), string(dir)); err != nil {
		return fmt.Errorf("cannot keep the base image: %w", err)
	}
	return nil
}

// bootstrap runs argv in its own mount namespace, so that its mounts go when
// it dies, and it dies with this process.
func bootstrap(argv []string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("cannot build the base image with mmdebstrap (does this machine reach its Debian mirror?): %w\n%s",
			err, tail(out.Bytes(), 2000))
	}
	return nil
}

// tail returns at most the last n bytes of text.
func tail(text []byte, n int) []byte {
	return text[max(0, len(text)-n):]
}
