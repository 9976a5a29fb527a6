package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// recipe is all that decides what a base image holds. Its digest names the
// image in the cache.
type recipe struct {
	suite   Release
	include []string // packages of the base image
	pool    []string // packages to keep as files, with their dependencies
	sources []string // apt sources: the machine's own, or none for the default mirror
	exclude []string // paths that dpkg leaves out of the base image
	script  string   // the last changes of the tree
}

// The scripts below finish a base image: $1 is its tree, POOL and SYSTEM are where
// packages go.

// keepPool keeps packages that hosts can install.
const keepPool = `set -e
chroot "$1" apt-get clean
chroot "$1" apt-get -y --no-install-recommends --download-only --reinstall install POOLED
mv "$1"/var/cache/apt/archives/*.deb "POOL"
`

// keepSystem keeps the packages of the tree itself, for hosts of the release before that
// are upgraded to this one.
const keepSystem = `chroot "$1" apt-get -y --download-only --reinstall install $(chroot "$1" dpkg-query -W -f '${Package}\n')
mv "$1"/var/cache/apt/archives/*.deb "SYSTEM"
`

// forget makes the tree independent of the machine that built it. A base image knows no
// repository, and leaves systemd nothing to complete at the first boot.
const forget = `chroot "$1" apt-get clean
rm -f "$1"/etc/apt/sources.list "$1"/etc/apt/sources.list.d/*
rm -f "$1"/etc/hostname "$1"/etc/resolv.conf
: > "$1"/etc/machine-id
touch -r "$1"/usr "$1"/etc/.updated "$1"/var/.updated
`

func newRecipe(release Release) recipe {
	script := keepPool + forget
	if release != Releases()[0] {
		script = keepPool + keepSystem + forget
	}
	return recipe{
		suite: release,
		include: []string{
			"acl", "adduser", "apt", "attr", "ca-certificates", "dbus", "iproute2", "iputils-ping",
			"openssh-server", "passwd", "procps", "systemd", "systemd-sysv", "tzdata",
		},
		pool: []string{
			"ca-certificates", "openssh-client", "openssh-server", "openssh-sftp-server", "openssl",
			"tzdata", // for hosts that have lost them
			"cron", "csh", "curl", "etcd-client", "etcd-server", "fish", "git", "jq", "kmod", "libarchive-tools",
			"libcap2-bin", "locales", "logrotate",
			"msmtp-mta", "nftables", "nginx", "prometheus-node-exporter", "restic", "rsync",
			"rsyslog", "ssl-cert", "sudo", "systemd-container", "systemd-resolved", "systemd-timesyncd", "tcsh", "unbound",
		},
		sources: machineSources("/etc/apt", release),
		exclude: []string{"/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*"},
		script:  script,
	}
}

// machineSources returns the files below etc that name the Debian repositories
// of the release, so that a machine's own mirror is used. Third-party repositories
// are left out: a base image is plain Debian.
func machineSources(etc string, release Release) []string {
	for _, name := range []string{"sources.list.d/debian.sources", "sources.list"} {
		path := filepath.Join(etc, name)
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), string(release)) {
			return []string{path}
		}
	}
	return nil
}

// digest names what the recipe makes. Two recipes that differ in anything but
// the version of a package have two digests.
func (r recipe) digest() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q\n", []any{r.suite, r.include, r.pool, r.exclude, r.script})
	for _, source := range r.sources {
		f, err := os.Open(source)
		if err != nil {
			return "", fmt.Errorf("cannot read an apt source: %w", err)
		}
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return "", fmt.Errorf("cannot read an apt source: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// argv returns the command that builds the image.
func (r recipe) argv(b base) []string {
	argv := []string{
		"mmdebstrap", "--quiet", "--variant=apt", "--mode=root",
		"--include=" + strings.Join(r.include, ","),
		`--aptopt=Acquire::Languages "none"`, `--aptopt=Acquire::Retries "5"`,
	}
	for _, path := range r.exclude {
		argv = append(argv, "--dpkgopt=path-exclude="+path)
	}
	script := strings.NewReplacer("POOLED", strings.Join(r.pool, " "), "POOL", b.pool(), "SYSTEM",
		b.system()).Replace(r.script)
	argv = append(argv, "--customize-hook="+script, string(r.suite), b.tree())
	return append(argv, r.sources...)
}
