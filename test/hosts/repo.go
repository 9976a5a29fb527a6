package hosts

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repoPath is where a host sees its repository.
const repoPath = "/srv/repo"

// Repo is a local apt repository. Hosts that boot with it see what has been
// published, without a network, also when it is published while they run.
type Repo struct{ dir string }

// NewRepo returns an empty repository that lives as long as t. It needs no
// root, but apt-ftparchive to publish.
func NewRepo(t testing.TB) *Repo {
	t.Helper()
	r := &Repo{dir: t.TempDir()}
	if err := os.Chmod(r.dir, 0o755); err != nil { // apt reads as its own user
		t.Fatal(err)
	}
	r.index(t, "Packages", nil)
	return r
}

// Dir is where the repository is outside of hosts.
func (r *Repo) Dir() string { return r.dir }

// Add writes the package d into the repository and returns the path of its
// file. It can be installed after the next Publish.
func (r *Repo) Add(t testing.TB, d Deb) string {
	t.Helper()
	data, err := d.Build()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(r.dir, d.fileName())
	_ = os.Remove(path) // it may be shared with the cache
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// AddDebian is AddDebianOf for the default release.
func (r *Repo) AddDebian(t testing.TB) {
	t.Helper()
	r.AddDebianOf(t, DefaultRelease())
}

// AddDebianOf puts the packages that the cache keeps beside the base image of a release
// into the repository: nginx, cron, curl, git, sudo, nftables, locales and others, with
// their dependencies, as Debian ships them.
func (r *Repo) AddDebianOf(t testing.TB, release Release) {
	t.Helper()
	Require(t)
	b, err := ensureBase(release)
	if err != nil {
		t.Fatal(err)
	}
	r.addAll(t, b.pool())
}

// AddUpgrade adds the packages for an upgrade of a host from the previous release to this one: the
// packages of the base image. AddDebianOf adds the other packages.
func (r *Repo) AddUpgrade(t testing.TB, release Release) {
	t.Helper()
	Require(t)
	b, err := ensureBase(release)
	if err != nil {
		t.Fatal(err)
	}
	r.addAll(t, b.system())
}

// addAll adds the packages of a directory. The files are shared with the cache where
// both are on one file system: nothing writes to them.
func (r *Repo) addAll(t testing.TB, dir string) {
	t.Helper()
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(debs) == 0 {
		t.Fatalf("cannot find packages in %s: %v", dir, err)
	}
	for _, deb := range debs {
		// apt escapes colons in names of files; a flat repository need not.
		name := strings.ReplaceAll(filepath.Base(deb), "%3a", "-")
		if err := copyOrLink(deb, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

// copyOrLink makes the file to with the content of from.
func copyOrLink(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("cannot copy a package: %w", err)
	}
	return os.WriteFile(to, data, 0o644)
}

// Publish makes all added packages installable. Hosts see them after their next apt-get update.
func (r *Repo) Publish(t testing.TB) {
	t.Helper()
	r.index(t, "Packages", r.ftparchive(t, "packages", "."))
	r.index(t, "Release", r.ftparchive(t, "-o", "APT::FTPArchive::Release::Origin=fettle-test",
		"-o", "APT::FTPArchive::Release::Suite=test", "release", "."))
}

// ftparchive runs apt-ftparchive in the repository and returns what it prints.
func (r *Repo) ftparchive(t testing.TB, args ...string) []byte {
	t.Helper()
	os.Remove(filepath.Join(r.dir, "Release")) // must not list itself
	var stderr bytes.Buffer
	cmd := exec.Command("apt-ftparchive", args...)
	cmd.Dir, cmd.Stderr = r.dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("cannot index the repository: %w: %s", err, stderr.Bytes()))
	}
	return out
}

// index replaces an index file.
func (r *Repo) index(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}
