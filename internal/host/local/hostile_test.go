package local_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/test/needs"
)

// TestSwappedDirectory: while we write into a user's directory, the user
// exchanges it with a link to a place that only root may write.
func TestSwappedDirectory(t *testing.T) {
	needs.Root(t)
	root := t.TempDir()
	home := filepath.Join(root, "home")
	for _, dir := range []string{"home", "home/dir", "secret"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	must(t, os.Symlink("/secret", filepath.Join(home, "link")))
	for _, p := range []string{"", "dir", "link"} {
		must(t, os.Lchown(filepath.Join(home, p), 1000, 1000))
	}
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		swaps := 0
		for ; ; swaps++ {
			select {
			case <-stop:
				stopped <- swaps
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, home+"/dir", unix.AT_FDCWD, home+"/link", unix.RENAME_EXCHANGE)
			}
		}
	}()
	h := open(t, root, local.Options{})
	refused := 0
	for i := 0; i < 2000 || (refused == 0 && i < 200_000); i++ {
		p := fmt.Sprintf("/home/dir/f%d", i)
		f, err := h.Create(p)
		if err != nil {
			refused++
			continue
		}
		must(t, f.Close())
		_, _ = h.Lstat(p)
		_ = h.Remove(p)
	}
	close(stop)
	swaps := <-stopped
	if entries, err := os.ReadDir(filepath.Join(root, "secret")); len(entries) != 0 || err != nil {
		t.Errorf("%d files were led astray, %v", len(entries), err)
	}
	if refused == 0 || swaps == 0 {
		t.Errorf("no race took place: %d refused, %d swaps", refused, swaps)
	}
}
