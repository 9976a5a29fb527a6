package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/hosts"
)

// programDir is this process's, which TestMain removes. Processes in worlds of their own
// have the same number, so that is no name for it.
var programDir = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "fettle-e2e-") })

// program is this program, built once for all hosts.
var program = sync.OnceValues(func() (string, error) {
	dir, err := programDir()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "fettle")
	return bin, gobuild.Program(bin, gobuild.Fettle)
})

// installFettle puts the program on a host.
func installFettle(t *testing.T, h *hosts.Host) {
	t.Helper()
	dependsOnSources(t)
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	h.Copy(t, bin, "/usr/local/bin/fettle")
}

const allKinds = `
apt_source "test" {
  uris    = ["file:/srv/repo"]
  suites  = ["./"]
  trusted = true
}
package "demo" {}
directory "/etc/cron.d" {}
group "deploy" {
  gid = 1500
}
user "alice" {
  uid     = 1501
  shell   = "/bin/bash"
  comment = "Alice Example"
  groups  = ["deploy", "adm"]
}
membership "www-data" {
  group = "deploy"
}
authorized_key "alice" {
  key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ+ alice@laptop"
}
file_line "root-login" {
  path  = "/etc/ssh/sshd_config"
  match = "^#?PermitRootLogin\\s"
  line  = "PermitRootLogin no"
}
file_block "internal" {
  path    = "/etc/hosts"
  content = "10.0.0.7 db7\n"
}
host_entry "db1.example.org" {
  ip      = "10.0.0.1"
  aliases = ["db1"]
}
sysctl "net.ipv4.ip_forward" {
  value = 1
}
cron "hourly-true" {
  package  = false # the host has no source of it
  schedule = "@hourly"
  command  = "true"
}
timer "poll" {
  every   = "15min"
  command = "/usr/bin/true"
}
hostname "renamed" {}
timezone "Etc/UTC" {}
`

// TestKindsOnAHost applies every kind of the standard library at once, finds
// nothing left to do, and takes it all back.
func TestKindsOnAHost(t *testing.T) { eachRelease(t, kindsOnAHost) }

func kindsOnAHost(t *testing.T, r hosts.Release) {
	h := hosts.NewWorldOf(t, r).Boot(t, "kinds", hosts.Options{Repo: packageRepo(t)})
	installFettle(t, h)
	// nspawn shows kernel settings read-only; the one set here is the host's own.
	h.Run(t, "mount", "-o", "remount,bind,rw", "/proc/sys")
	h.Run(t, "mkdir", "-p", "/root/repo")
	h.WriteFile(t, "/root/repo/fettle.hcl", allKinds, 0o644)
	before := h.Snapshot(t)
	t.Log(h.Run(t, "fettle", "apply", "-C", "/root/repo", "--yes", "--confirm-within", "0s"))
	checks := map[string]string{
		"dpkg-query -W -f ${Version} demo":  "2.0",
		"id -un 1501":                       "alice",
		"id -Gn alice":                      "alice adm deploy",
		"id -Gn www-data":                   "www-data deploy",
		"stat -c %U:%G:%a /home/alice/.ssh": "alice:alice:700",
		"grep -c alice@laptop /home/alice/.ssh/authorized_keys": "1",
		"grep -c ^PermitRootLogin.no$ /etc/ssh/sshd_config":     "1",
		"getent hosts db7":                  "10.0.0.7        db7",
		"getent hosts db1":                  "10.0.0.1        db1.example.org db1",
		"cat /proc/sys/net/ipv4/ip_forward": "1",
		"systemctl is-active poll.timer":    "active",
		"systemctl is-enabled poll.timer":   "enabled",
		"hostname":                          "renamed",
		"readlink /etc/localtime":           "/usr/share/zoneinfo/Etc/UTC",
		"cat /etc/timezone":                 "Etc/UTC",
	}
	for argv, want := range checks {
		if got := strings.TrimSpace(h.Exec(strings.Fields(argv)...).Stdout); got != want {
			t.Errorf("%s: %q, want %q", argv, got, want)
		}
	}
	if r := h.Exec("fettle", "plan", "-C", "/root/repo"); r.ExitCode != 0 {
		t.Errorf("a plan after the apply has changes:\n%s%s", r.Stdout, r.Stderr)
	}
	t.Log(h.Run(t, "fettle", "rollback", "--yes"))
	(&machine{Host: h, t: t}).purgeRemoved()
	// The record of runs; backups, logs and caches that apt, dpkg and shadow
	// keep for themselves.
	theirs := []string{"/var/lib/fettle", "/var/lib/fettle/**", "/etc/*-", "/var/cache/apt/**", "/var/lib/apt/lists/**",
		"/var/lib/dpkg/*-old", "/var/log/apt/*", "/var/log/dpkg.log"}
	for _, line := range hosts.Compare(before, h.Snapshot(t), append(hosts.Volatile(), theirs...)) {
		t.Errorf("after rollback: %s", line)
	}
}
