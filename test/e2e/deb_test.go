package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// firstDeb is the Debian package, built once for all tests.
var firstDeb = sync.OnceValues(func() (string, error) {
	dir, err := programDir()
	if err != nil {
		return "", err
	}
	return buildDeb(filepath.Join(dir, "deb"))
})

// sharedDeb returns the path of the Debian package.
func sharedDeb(t *testing.T) string {
	t.Helper()
	dependsOnSources(t)
	for _, dir := range []string{"../../packaging", "../../packaging/debian", "../../packaging/systemd"} {
		if _, err := os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	deb, err := firstDeb()
	if err != nil {
		t.Fatal(err)
	}
	return deb
}

// buildDeb builds the Debian package into dir. It is hardly compressed: that takes most of
// the time, and tests install it at once.
func buildDeb(dir string) (string, error) {
	cmd := exec.Command("../../packaging/build.sh", dir)
	cmd.Env = append(cmd.Environ(), "VERSION=1.2.3~test", "PROGRAMS="+runtime.GOARCH, "SOURCE_DATE_EPOCH=1700000000",
		"DPKG_DEB_COMPRESSOR_LEVEL=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the package: %w\n%s", err, out)
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) != 1 {
		return "", fmt.Errorf("cannot find the package: %v %w", debs, err)
	}
	return debs[0], nil
}

// The same sources give the same bytes. This package, which is hardly compressed, is about an
// eighth larger than the one that users install.
func TestPackageReproducible(t *testing.T) {
	sample.Group(t, 4)
	t.Parallel()
	hosts.Require(t)
	one, err1 := os.ReadFile(sharedDeb(t))
	again, err := buildDeb(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	two, err2 := os.ReadFile(again)
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("two builds differ: %d and %d bytes %v %v", len(one), len(two), err1, err2)
	}
	if len(one) > 28<<20 {
		t.Errorf("the package has %d MiB", len(one)>>20)
	}
}

// TestPackage is the life of the Debian package on a host: installed, applied
// by its timer, settled at boot, removed, purged.
func TestPackage(t *testing.T) { eachRelease(t, lifeOfPackage) }

func lifeOfPackage(t *testing.T, r hosts.Release) {
	m := debMachine(t, r, "deb")
	m.Run(t, "sh", "-c", "rm -f /etc/dpkg/dpkg.cfg.d/*") // a slim image leaves pages and documents out
	m.Copy(t, sharedDeb(t), "/root/fettle.deb")
	m.installDeb()

	m.installed()
	m.Reboot(t)
	m.want("no", "systemctl", "show", "-P", "ConditionResult", "fettle-recover.service") // nothing was ever applied
	m.timer()
	m.Reboot(t)
	m.want("success 0 yes", "sh", "-c",
		"echo $(systemctl show -P Result -P ConditionResult -P ExecMainStatus fettle-recover.service)")
	m.want("0", "systemctl", "show", "-P", "NFailedUnits")
	m.removed()
}

// debMachine is a host that can install fettle's package, with what the package depends on.
func debMachine(t *testing.T, r hosts.Release, name string) *machine {
	t.Helper()
	m := &machine{Host: hosts.NewWorldOf(t, r).Boot(t, name, hosts.Options{Repo: debianRepo(t, r)}), t: t}
	m.settle()
	m.Run(t, "apt-get", "install", "-q", "-y", "--no-install-recommends", "git")
	return m
}

// installDeb installs the package that has been copied to the host.
func (m *machine) installDeb() {
	m.t.Helper()
	m.Run(m.t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-q", "-y", "--no-install-recommends",
		"/root/fettle.deb")
}

// installed looks at what a fresh package has put there.
func (m *machine) installed() {
	m.t.Helper()
	m.want("fettle 1.2.3~test", "sh", "-c", "fettle version | cut -d' ' -f1,2")
	for _, p := range []string{
		"/etc/fettle", "/usr/share/man/man1/fettle.1.gz", "/usr/share/man/man1/fettle-apply.1.gz",
		"/usr/share/bash-completion/completions/fettle",
		"/usr/share/zsh/vendor-completions/_fettle", "/usr/share/fish/vendor_completions.d/fettle.fish",
		"/usr/share/doc/fettle/copyright",
		"/usr/share/doc/fettle/README.Debian", "/usr/share/doc/fettle/libraries.gz", "/usr/share/doc/fettle/quickstart.md",
		"/usr/share/doc/fettle/openapi.json",
		"/usr/share/man/man7/fettle-language.7.gz", "/usr/share/man/man7/fettle-kinds.7.gz",
		"/usr/share/man/man7/fettle-steps.7.gz",
	} {
		if !m.has(p) {
			m.t.Errorf("%s is not there", p)
		}
	}
	m.Run(m.t, "bash", "-n", "/usr/share/bash-completion/completions/fettle")
	m.want("", "dpkg", "--verify", "fettle")
	m.want("disabled", "systemctl", "is-enabled", "fettle-apply.timer")
	m.want("disabled", "systemctl", "is-enabled", "fettle-recover.timer")
	m.want("inactive", "systemctl", "is-active", "fettle-apply.timer")
	m.want("enabled", "systemctl", "is-enabled", "fettle-recover.service")
	if r := m.Exec("systemd-analyze", "verify", "--man=no", "/lib/systemd/system/fettle-apply.timer",
		"/lib/systemd/system/fettle-apply.service", "/lib/systemd/system/fettle-recover.service",
		"/lib/systemd/system/fettle-recover.timer"); r.ExitCode != 0 || strings.Contains(r.Stderr, "fettle") {
		m.t.Errorf("systemd-analyze verify: %s", r.Stderr)
	}
	if m.has("/var/lib/fettle") {
		m.t.Error("installing has made a state directory")
	}
}

// timer applies once through the timer, and once more without a change.
func (m *machine) timer() {
	m.t.Helper()
	m.WriteFile(m.t, "/etc/fettle/repository/fettle.hcl",
		"target \"this\" {}\nfile \"/srv/hello\" { content = \"hello\" }\n", 0o644)
	m.WriteFile(m.t, "/etc/systemd/system/fettle-apply.timer.d/soon.conf",
		"[Timer]\nOnActiveSec=\nOnActiveSec=0\nRandomizedDelaySec=0\n", 0o644)
	m.Run(m.t, "systemctl", "daemon-reload")
	m.Run(m.t, "systemctl", "start", "fettle-apply.timer")
	m.await("the file that the timer applies", func() bool { return m.has("/srv/hello") })
	m.Run(m.t, "systemctl", "start", "fettle-apply.service") // joins the run under way, or makes another
	m.want("success", "systemctl", "show", "-P", "Result", "fettle-apply.service")
	m.want("hello", "cat", "/srv/hello")
	m.fettle0("drift")
}

// fettle0 runs fettle outside of the repository's directory and wants success.
func (m *machine) fettle0(args ...string) {
	m.t.Helper()
	m.Run(m.t, append([]string{"fettle", "-C", "/etc/fettle/repository"}, args...)...)
}

// removed takes the package away and looks at what stays. A run that waits for its
// confirmation could not be undone without the program, so it comes first.
func (m *machine) removed() {
	m.t.Helper()
	m.WriteFile(m.t, "/etc/fettle/repository/fettle.hcl",
		"target \"this\" {}\nfile \"/srv/hello\" { content = \"hello again\" }\n", 0o644)
	m.Run(m.t, "systemctl", "stop", "fettle-apply.timer")
	m.fettle0("apply", "--yes", "--confirm-within", "10m")
	if r := m.Exec("dpkg", "--remove", "fettle"); r.ExitCode == 0 ||
		!strings.Contains(r.Stderr, "a run waits for its confirmation") {
		m.t.Errorf("removing the package before a confirmation gives %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	m.fettle0("confirm")
	m.Run(m.t, "dpkg", "--remove", "fettle")
	if m.has("/usr/bin/fettle") || !m.has("/srv/hello") || !m.has("/var/lib/fettle") {
		m.t.Error("removing the package removes the wrong things")
	}
	out := m.Run(m.t, "dpkg", "--purge", "fettle")
	if !m.has("/var/lib/fettle") || !strings.Contains(out, "/var/lib/fettle remains") {
		m.t.Errorf("purging gives\n%s", out)
	}
	m.want("", "sh", "-c",
		"ls /etc/systemd/system/*/fettle-* /var/lib/systemd/deb-systemd-helper-enabled/*fettle* 2>/dev/null")
	m.want("", "dpkg", "--audit")
}
