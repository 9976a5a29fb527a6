package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// upgradedKinds is what a host has when its Debian is upgraded: edited conffiles, packages,
// accounts and units.
const upgradedKinds = `
package "cron" {}
service "cron" {
  enabled = true
  running = true
}
cron "hourly-true" {
  schedule = "@hourly"
  command  = "true"
}
user "alice" {
  uid    = 1501
  groups = ["adm"]
}
file_line "root-login" {
  path  = "/etc/ssh/sshd_config"
  match = "^#?PermitRootLogin\\s"
  line  = "PermitRootLogin no"
}
sysctl "net.ipv4.ip_forward" {
  value = 1
}
timezone "Europe/Amsterdam" {}
locale "nl_NL.UTF-8" { default = true }
timer "poll" {
  every   = "15min"
  command = "/usr/bin/true"
}
file "/etc/motd" { content = "TEXT\n" }
`

// TestReleaseUpgrade upgrades a managed host from Debian 12 to 13 with apt, as an
// administrator does. Then fettle plans, applies and goes back to the origin.
func TestReleaseUpgrade(t *testing.T) {
	if !full() {
		t.Skip("an upgrade takes minutes: FETTLE_LONG=1 runs it")
	}
	repo := debianRepo(t, hosts.Bookworm)
	m := newMachine(t, hosts.NewWorldOf(t, hosts.Bookworm), "upgrade", repo)
	m.write(map[string]string{"fettle.hcl": strings.Replace(upgradedKinds, "TEXT", "twelve", 1)})
	m.WriteFile(t, "/etc/default/locale", "LANG=C.UTF-8\n", 0o644)
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")

	repo.AddDebianOf(t, hosts.Trixie)
	repo.AddUpgrade(t, hosts.Trixie)
	repo.Publish(t)
	m.Run(t, "apt-get", "update", "-q")
	m.Run(t, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "dist-upgrade", "-q", "-y", "-o",
		"Dpkg::Options::=--force-confold", "-o", "Dpkg::Options::=--force-unsafe-io")
	m.Reboot(t)
	m.Run(t, "mount", "-o", "remount,bind,rw", "/proc/sys")
	m.want("trixie", "sh", "-c", ". /etc/os-release; echo $VERSION_CODENAME")
	m.want("../locale.conf", "readlink", "/etc/default/locale")
	m.want("LANG=nl_NL.UTF-8", "grep", "LANG", "/etc/locale.conf")
	m.want("", "sh", "-c", "env -C "+repository+" fettle drift | grep locale")

	m.write(map[string]string{"fettle.hcl": strings.Replace(upgradedKinds, "TEXT", "thirteen", 1)})
	m.fettle(changes, "plan")
	m.fettle(success, "apply", "--yes", "--confirm-within", "0s")
	m.fettle(success, "plan")
	m.want("thirteen", "cat", "/etc/motd")

	m.fettle(success, "rollback", "--yes")
	m.want("twelve", "cat", "/etc/motd")
	m.want("LANG=nl_NL.UTF-8", "grep", "LANG", "/etc/locale.conf")
	m.fettle(success, "rollback", "origin", "--yes")
	m.want("LANG=C.UTF-8", "grep", "LANG", "/etc/locale.conf")
	m.want("../locale.conf", "readlink", "/etc/default/locale")
	m.want("", "sh", "-c",
		"getent passwd alice; ls /etc/cron.d/hourly-true /etc/systemd/system/poll.timer 2>/dev/null; grep '^PermitRootLogin no' /etc/ssh/sshd_config")
	m.want("", "dpkg", "--audit")
}
