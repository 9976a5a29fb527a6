package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/test/hosts"
)

// TestBaseOfBothReleases compares what the linter takes for granted with both releases: an
// account or directory that only one of them has must not be taken for granted.
func TestBaseOfBothReleases(t *testing.T) {
	eachRelease(t, func(t *testing.T, r hosts.Release) {
		root := hosts.BaseOf(t, r)
		for file, has := range map[string]func(string) bool{"passwd.master": step.DebianBase{}.HasUser, "group.master": step.DebianBase{}.HasGroup} {
			text, err := os.ReadFile(filepath.Join(root, "usr/share/base-passwd", file))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				if name, _, _ := strings.Cut(line, ":"); !has(name) {
					t.Errorf("base-passwd makes %s, and the linter does not know it", name)
				}
			}
		}
		for _, dir := range step.DebianDirs() {
			info, err := os.Lstat(filepath.Join(root, dir)) // a link such as /var/lock leads out of the image
			if (err != nil || !info.IsDir() && info.Mode()&os.ModeSymlink == 0) && !important(dir) {
				t.Errorf("the linter takes %s for granted", dir)
			}
		}
	})
}

// important tells whether a directory comes with a package that every installation has,
// and that the base image lacks: cron, ifupdown, udev, kmod and the kernel's hooks.
func important(dir string) bool {
	for _, d := range []string{"/etc/cron.", "/var/spool/cron", "/etc/network", "/etc/udev", "/etc/modprobe.d", "/etc/kernel"} {
		if strings.HasPrefix(dir, d) {
			return true
		}
	}
	return false
}
