package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// Base returns the root directory of the base image of the default release. It is
// built at most once a recipe and must not be written to.
func Base(t testing.TB) string {
	t.Helper()
	return BaseOf(t, DefaultRelease())
}

// BaseOf is Base for a release.
func BaseOf(t testing.TB, r Release) string {
	t.Helper()
	Require(t)
	base, err := ensureBase(r)
	if err != nil {
		t.Fatal(err)
	}
	return base.tree()
}

// base is the directory of a complete base image.
type base string

// tree is the root directory of a host. pool contains the .deb files of packages that hosts can
// install, and system the .deb files of the packages in the tree.
func (b base) tree() string   { return filepath.Join(string(b), "tree") }
func (b base) pool() string   { return filepath.Join(string(b), "pool") }
func (b base) system() string { return filepath.Join(string(b), "system") }

// ensureBases builds the base images that the cache lacks, all at once.
func ensureBases(releases []Release) error {
	errs := make([]error, len(releases))
	var wait sync.WaitGroup
	for i, release := range releases {
		wait.Go(func() { _, errs[i] = ensureBase(release) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// ensureBase returns the base image of a release, and builds it if it is not in the cache. If several
// processes need it, one of them builds it.
func ensureBase(release Release) (base, error) {
	if err := release.check(); err != nil {
		return "", err
	}
	r := newRecipe(release)
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

// buildBase builds into a directory beside dir and renames it when it is whole.
func buildBase(r recipe, dir base) error {
	unfinished := base(dir + ".unfinished")
	if err := os.RemoveAll(string(unfinished)); err != nil {
		return fmt.Errorf("cannot remove an unfinished base image: %w", err)
	}
	for _, dir := range []string{unfinished.pool(), unfinished.system()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot create a base image: %w", err)
		}
	}
	if err := bootstrap(r.argv(unfinished)); err != nil {
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
