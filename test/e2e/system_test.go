package e2e

import (
	"os/exec"
	"path/filepath"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// inHost builds the tests of a package that change the machine they run on
// (build tag inhost) and runs those that pattern names inside a host.
func inHost(t *testing.T, h *hosts.Host, pkg, pattern string) {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "inhost.test")
	cmd := exec.Command("go", "test", "-c", "-tags", "inhost", "-o", bin, pkg)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the tests of %s: %v\n%s", pkg, err, out)
	}
	h.Copy(t, bin, "/root/inhost.test")
	r := h.Exec("/root/inhost.test", "-test.v", "-test.timeout=60s", "-test.run", pattern)
	if r.ExitCode != 0 {
		t.Errorf("the tests of %s failed inside the host:\n%s%s", pkg, r.Stdout, r.Stderr)
	}
	if testing.Verbose() {
		t.Log(r.Stdout)
	}
}

const localHost = "fettle.dev/fettle/internal/host/local"

// TestUnitsOfAHost drives systemd: jobs, failures with their log, enabling,
// masking, templates, aliases, init scripts.
func TestUnitsOfAHost(t *testing.T) {
	h := hosts.NewWorld(t).Boot(t, "units", hosts.Options{})
	inHost(t, h, localHost, "^(TestUnit|TestOneshot|TestMask|TestNeedsReload|TestSysV|TestJob)")
}
