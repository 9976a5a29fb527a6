package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// inHostTests is the program with the tests of localHost that change the machine they run
// on (build tag inhost), built once for all hosts.
var inHostTests = sync.OnceValues(func() (string, error) {
	dir, err := programDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "inhost.test")
	cmd := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-tags", "inhost", "-o", bin, localHost)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build the tests of %s: %w\n%s", localHost, err, out)
	}
	return bin, nil
})

// inHost runs the tests of localHost that pattern names inside a host.
func inHost(t *testing.T, h *hosts.Host, pattern string) {
	t.Helper()
	dependsOnSources(t)
	bin, err := inHostTests()
	if err != nil {
		t.Fatal(err)
	}
	h.Copy(t, bin, "/root/inhost.test")
	r := h.Exec("/root/inhost.test", "-test.v", "-test.timeout=3m", "-test.run", pattern)
	if r.ExitCode != 0 {
		t.Errorf("the tests of %s failed inside the host:\n%s%s", localHost, r.Stdout, r.Stderr)
	}
	if testing.Verbose() {
		t.Log(r.Stdout)
	}
}

// dependsOnSources tells go test that the result depends on the program's
// sources, which a build in a child process does not: without it, an old result
// would be taken out of the cache.
func dependsOnSources(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"../../cmd", "../../internal"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

const localHost = "fettle.dev/fettle/internal/host/local"

// TestUnitsOfAHost drives systemd: jobs, failures with their log, enabling,
// masking, templates, aliases, init scripts.
func TestUnitsOfAHost(t *testing.T) {
	sample.Group(t, 2)
	t.Parallel()
	h := hosts.NewWorld(t).Boot(t, "units", hosts.Options{})
	inHost(t, h, "^(TestUnit|TestOneshot|TestMask|TestNeedsReload|TestSysV|TestJob)")
}

// packageRepo is what the tests of packages install.
func packageRepo(t *testing.T) *hosts.Repo {
	t.Helper()
	r := hosts.NewRepo(t)
	for _, v := range []string{"1.0", "2.0"} {
		r.Add(t, hosts.Deb{
			Name: "demo", Version: v, Depends: "demo-data", Conffiles: []string{"/etc/demo.conf"},
			Files: map[string]string{"/etc/demo.conf": "version " + v + "\n"},
		})
	}
	r.Add(t, hosts.Deb{Name: "demo-data", Version: "1"})
	r.Add(t, hosts.Deb{Name: "epoch", Version: "1:1.0"})
	r.Add(t, hosts.Deb{Name: "rival", Version: "1.0", Fields: map[string]string{"Conflicts": "demo"}})
	r.Add(t, hosts.Deb{Name: "picky", Version: "1.0",
		Postinst: "test -e /run/allow || { echo picky wants /run/allow; exit 7; }"})
	r.Add(t, hosts.Deb{Name: "slow", Version: "1.0",
		Postinst: "touch /run/slow-waits; while ! test -e /run/go; do sleep 0.1; done"})
	r.Publish(t)
	return r
}

// TestPackagesOfAHost drives apt and dpkg: install, upgrade, downgrade, remove,
// holds, conffiles, the lock, failing scripts, a killed dpkg, kept packages.
func TestPackagesOfAHost(t *testing.T) { eachRelease(t, packagesOfAHost) }

func packagesOfAHost(t *testing.T, r hosts.Release) {
	h := hosts.NewWorldOf(t, r).Boot(t, "packages", hosts.Options{Repo: packageRepo(t)})
	h.Run(t, "apt-get", "update", "-q")
	inHost(t, h, "^(TestPackage|TestHolds|TestConffile|TestFailing|TestKilled|TestLock|TestMistakes|TestKept)")
}
