package local_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/executor"
)

// inMounts names the variable that tells a test that it has a mount namespace
// of its own.
const inMounts = "FETTLE_TEST_MOUNTS"

// ownMounts runs the test that calls it once more in a process with mounts of
// its own, and tells that process to go on. Elsewhere it gives false.
func ownMounts(t *testing.T) bool {
	t.Helper()
	needRoot(t)
	if os.Getenv(inMounts) == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), inMounts+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(err.Error(), "operation not permitted") {
		t.Skipf("needs the right to make a mount namespace: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

func (m *machine) mount(source, p, kind string, flags uintptr, data string) {
	m.t.Helper()
	m.must(unix.Mount(source, m.at(p), kind, flags, data))
	m.t.Cleanup(func() { _ = unix.Unmount(m.at(p), unix.MNT_DETACH) })
}

// What is mounted over cannot be renamed: the content goes into the inode.
func TestBindMountedFileIsWrittenInPlace(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	m := newMachine(t)
	m.write("/etc/resolv.conf", "below")
	m.write("/run/behind", "old")
	m.mount(m.at("/run/behind"), "/etc/resolv.conf", "", unix.MS_BIND, "")
	m.cycle("COPY a /etc/resolv.conf\n", map[string]string{"a": "A"}, func() {
		m.want("/etc/resolv.conf", "A")
		m.want("/run/behind", "A")
	})
	m.refuses("RM /etc/resolv.conf\nCOPY b /etc/later\n", map[string]string{"b": "B"}, "/etc/resolv.conf", "mounted")
	m.refuses("LINK a /etc/resolv.conf\n", nil, "/etc/resolv.conf", "mounted")
}

func TestFullDiskLeavesTheOldState(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	m := newMachine(t)
	m.must(os.Mkdir(m.at("/full"), 0o755))
	m.mount("tmpfs", "/full", "tmpfs", 0, "size=2m")
	m.apply("COPY a /full/a\n", map[string]string{"a": "A"})
	m.write("/full/theirs", strings.Repeat("x", 1<<20))
	big := strings.Repeat("0123456789abcdef", 128<<10)
	list := "COPY a /full/a\nCOPY big /full/big\nCOPY b /full/later\n"
	files := map[string]string{"a": "A2", "big": big, "b": "B"}
	before := m.tree()
	_, err := m.x.Apply(context.Background(), m.request(list, files), nil, executor.Options{OnFailure: "undo"}, nil)
	if !errors.Is(err, executor.ErrUndone) || !strings.Contains(err.Error(), "no space left") ||
		!strings.Contains(err.Error(), "/full/big") {
		t.Errorf("undone: %v", err)
	}
	if after := m.tree(); after != before {
		t.Errorf("it changed from\n%s\nto\n%s", before, after)
	}
	if _, err = m.x.Apply(context.Background(), m.request(list, files), nil, executor.Options{}, nil); err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("stopped: %v", err)
	}
	m.want("/full/a", "A2") // what came before it stays
	m.want("/full/big", "(absent)")
	m.want("/full/later", "(absent)")
	m.apply("COPY a /full/a\n", map[string]string{"a": "A3"})
	m.rollback(0)
	m.want("/full/a", "(absent)")
}

func TestReadOnlyRootIsSaid(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	m := newMachine(t)
	m.mount(m.at("/etc"), "/etc", "", unix.MS_BIND, "")
	m.must(unix.Mount("", m.at("/etc"), "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	m.refuses("COPY a /etc/hostname\nCOPY b /srv/later\n", map[string]string{"a": "A", "b": "B"}, "/etc/",
		"read-only file system")
	m.refuses("COPY a /etc/new\n", map[string]string{"a": "A"}, "/etc/", "read-only file system")
	m.refuses("META /etc/hostname mode=0600\n", nil, "/etc/hostname", "read-only file system")
	m.want("/srv/later", "(absent)")
}

// A state directory that cannot be read or written stops everything first.
func TestStateThatCannotBeUsed(t *testing.T) {
	if !ownMounts(t) {
		return
	}
	m := newMachine(t)
	m.apply("COPY a /etc/a\n", map[string]string{"a": "A"})
	before := m.tree()
	m.mount(m.at("/var/lib/fettle"), "/var/lib/fettle", "", unix.MS_BIND, "")
	m.must(unix.Mount("", m.at("/var/lib/fettle"), "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	if err := m.reopen(); err == nil {
		_, err = m.x.Apply(context.Background(), m.request("COPY a /etc/a\n", map[string]string{"a": "A2"}), nil,
			executor.Options{}, nil)
		if err == nil || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("read-only: %v", err)
		}
	}
	m.mount("tmpfs", "/var/lib/fettle", "tmpfs", 0, "size=64k")
	if err := os.WriteFile(m.at("/var/lib/fettle/journal"), []byte("no directory"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := m.reopen()
	if err == nil {
		_, err = m.x.Apply(context.Background(), m.request("COPY a /etc/a\n", map[string]string{"a": "A2"}), nil,
			executor.Options{}, nil)
	}
	if err == nil || !strings.Contains(err.Error(), "cannot") {
		t.Errorf("a state directory that is damaged: %v", err)
	}
	if m.tree() != before {
		t.Error("it changed something")
	}
}
