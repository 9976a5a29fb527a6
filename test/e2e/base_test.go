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
		for file, has := range map[string]func(string) bool{"passwd.master": step.DebianBase{}.HasUser,
			"group.master": step.DebianBase{}.HasGroup} {
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

// TestBaseOfBootedHosts compares what the linter takes for granted with hosts of both
// releases that run: services and systemd make accounts and directories at boot.
func TestBaseOfBootedHosts(t *testing.T) {
	eachRelease(t, func(t *testing.T, r hosts.Release) {
		m := &machine{hosts.NewWorldOf(t, r).Boot(t, "base", hosts.Options{}), t}
		for _, dir := range strings.Fields(m.each(`test -d "$1" || echo "$1"`, step.DebianDirs()...)) {
			if !important(dir) {
				t.Errorf("the linter takes %s for granted", dir)
			}
		}
		for database, has := range map[string]func(string) bool{"passwd": step.DebianBase{}.HasUser,
			"group": step.DebianBase{}.HasGroup} {
			for line := range strings.Lines(m.Run(t, "getent", database)) {
				name, _, _ := strings.Cut(line, ":")
				if comesWith := map[string]bool{"sshd": true, "_ssh": true}; !has(name) && !comesWith[name] {
					t.Errorf("the %s %s of every host is not known to the linter", database, name)
				}
			}
		}
		for database, names := range map[string][]string{"passwd": step.DebianUsers(), "group": step.DebianGroups()} {
			if missing := m.each(`getent `+database+` "$1" >/dev/null || echo "$1"`, names...); missing != "" {
				t.Errorf("the linter takes for granted of %s: %s", database, missing)
			}
		}
	})
}

// each runs a script for each argument.
func (m *machine) each(script string, args ...string) string {
	m.t.Helper()
	return m.Run(m.t, append([]string{"sh", "-c", "while [ $# -gt 0 ]; do " + script + "; shift; done", "sh"}, args...)...)
}

// important tells whether a directory comes with a package that every installation has,
// and that the base image lacks: cron, ifupdown, udev, kmod and the kernel's hooks.
func important(dir string) bool {
	for _, d := range []string{"/etc/cron.", "/var/spool/cron", "/etc/network", "/etc/udev", "/etc/modprobe.d",
		"/etc/kernel"} {
		if strings.HasPrefix(dir, d) {
			return true
		}
	}
	return false
}
