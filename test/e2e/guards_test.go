package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// lookingGuards only look at the host, in the ways in which guards usually do.
const lookingGuards = `
target "local" {}
exec "unit" {
  command = ["false"]
  unless  = ["systemctl", "is-active", "systemd-journald.service"]
}
exec "nounit" {
  command = ["false"]
  unless  = ["systemctl", "is-active", "nosuch.service"]
}
exec "package" {
  command = ["false"]
  unless  = ["dpkg-query", "-W", "dpkg"]
}
exec "debconf" {
  command = ["false"]
  unless  = ["sh", "-c", "echo GET debconf/priority | debconf-communicate debconf | grep -q ^0"]
}
exec "mount" {
  command = ["false"]
  unless  = ["sh", "-c", "mountpoint -q /proc && mountpoint -q /run && grep -q ' /run ' /proc/mounts"]
}
exec "process" {
  command = ["false"]
  unless  = ["kill", "-0", "1"]
}
exec "user" {
  command = ["false"]
  unless  = ["sh", "-c", "test $(id -un) = nobody && test ! -r /etc/shadow"]
  user    = "nobody"
}
exec "lock" {
  command = ["false"]
  unless  = ["flock", "-n", "/run/fettle-guard.lock", "sh", "-c", "mktemp && getent passwd root"]
}
exec "ports" {
  command       = ["false"]
  unless        = ["grep", "-q", "lo:", "/proc/net/dev"]
  guard_network = true
}
`

// doingGuards change something, or need what a plan does not give them.
const doingGuards = `
target "local" {}
exec "writes" {
  command = ["false"]
  unless  = ["sh", "-c", "echo x > /etc/written && rm /etc/hostname && mkdir /run/written && test -e /etc/written"]
}
exec "kernel" {
  command = ["false"]
  unless  = ["sh", "-c", "echo 7 > /proc/sys/vm/swappiness"]
}
exec "sends" {
  command = ["false"]
  unless  = ["bash", "-c", "exec 3<>/dev/tcp/192.0.2.1/80"]
}
exec "rules" {
  command = ["false"]
  unless  = ["sh", "-c", "test -z \"$(ip -o link)\""]
}
`

// TestGuardsInAPlan: a guard gives the answer of the host, and changes nothing.
func TestGuardsInAPlan(t *testing.T) {
	eachRelease(t, func(t *testing.T, r hosts.Release) {
		m := newMachine(t, hosts.NewWorldOf(t, r), "guards", nil)
		m.write(map[string]string{"fettle.hcl": lookingGuards})
		isolated := m.fettle(changes, "plan")
		if onHost := m.fettle(changes, "plan", "--run-guards"); isolated != onHost {
			t.Errorf("isolated guards answer differently")
		}
		m.says(isolated, "> exec:nounit   new in the list", "1 to run, 8 to adopt")
		m.says(m.fettle(changes, "plan", "--no-guards"), "9 to run")

		m.write(map[string]string{"fettle.hcl": doingGuards})
		swappiness := m.Run(t, "cat", "/proc/sys/vm/swappiness")
		m.says(m.fettle(changes, "plan"), "= exec:writes", "> exec:sends   its guard was not run: it uses the network",
			"> exec:rules   its guard was not run: it reads the state of the network (ip)")
		if m.has("/etc/written") || m.has("/run/written") || !m.has("/etc/hostname") {
			t.Error("a plan changed files")
		}
		m.want(strings.TrimSpace(swappiness), "cat", "/proc/sys/vm/swappiness")

		m.write(map[string]string{"fettle.hcl": lookingGuards})
		unprivileged := []string{"env", "-C", repository, "setpriv", "--bounding-set", "-sys_admin", "fettle"}
		o := m.Exec(append(unprivileged, "plan")...)
		if o.ExitCode != changes || strings.Count(o.Stdout,
			"its guard was not run: it cannot be isolated here: this process is not allowed to create namespaces") != 9 {
			t.Errorf("without CAP_SYS_ADMIN: %d\n%s%s", o.ExitCode, o.Stdout, o.Stderr)
		}
	})
}

// guardsOverSSH: a plan over SSH isolates guards too, and carries the choice.
func guardsOverSSH(d *desk, m *machine) {
	d.repo(map[string]string{"fettle.hcl": strings.Replace(lookingGuards, `"local" {}`, "\"web1\" {\n  ssh {}\n}", 1)})
	d.says(d.fettle(changes, "plan", "-t", "web1"), "1 to run, 8 to adopt")
	d.says(d.fettle(changes, "plan", "-t", "web1", "--no-guards"), "9 to run")
	d.repo(map[string]string{"fettle.hcl": strings.Replace(doingGuards, `"local" {}`, "\"web1\" {\n  ssh {}\n}", 1)})
	d.fettle(changes, "plan", "-t", "web1")
	if m.has("/etc/written") {
		d.t.Error("a plan over SSH changed files")
	}
	d.fettle(changes, "plan", "-t", "web1", "--run-guards")
	if !m.has("/etc/written") {
		d.t.Error("--run-guards does not reach the target")
	}
	m.Run(d.t, "sh", "-c", "echo web1 > /etc/hostname; rm -r /etc/written /run/written")
}
