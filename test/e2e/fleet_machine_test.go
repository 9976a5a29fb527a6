package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// machineModule is a module with what an agent sees in different ways: a file, an account,
// a package, a unit.
const machineModule = `
package "cron" {}
service "cron" {
  enabled = true
  running = true
}
user "deploy" {
  home = "/srv/deploy"
}
file "/etc/motd" { content = "TEXT\n" }
`

// TestFleetMachine is an agent on a machine to which things happen: services are stopped,
// accounts deleted, packages purged, the line is cut in both ways that lines are cut, the
// disk is full, and the machine comes up without any hub.
func TestFleetMachine(t *testing.T) {
	eachRelease(t, fleetMachine)
}

func fleetMachine(t *testing.T, r hosts.Release) {
	repo, w := debianRepo(t, r), hosts.NewWorldOf(t, r)
	f := &fleetOf{t: t, hub: newMachine(t, w, "hub", repo), agents: []*machine{newMachine(t, w, "web1", repo)},
		module: machineModule}
	f.begin()
	for _, s := range []struct {
		name string
		main bool // of the short set
		f    func(*fleetOf, *machine)
	}{{"Drift", true, machineDrift}, {"Unplugged", false, machineUnplugged}, {"Silence", false, machineSilence},
		{"DiskFull", false, machineDiskFull}, {"Boot", true, machineBoot}} {
		if reduced(r) && !s.main {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			g := &fleetOf{t: t, hub: f.hub.with(t), agents: []*machine{f.agents[0].with(t)}, module: f.module}
			s.f(g, g.agents[0])
		})
	}
}

// machineDrift: what systemd, the accounts and dpkg know is seen as soon as files are.
func machineDrift(f *fleetOf, a *machine) {
	f.ready()
	a.Run(f.t, "systemctl", "stop", "cron")
	f.await("cron runs again", func() bool { return a.Exec("systemctl", "is-active", "cron").ExitCode == 0 })
	a.Run(f.t, "systemctl", "disable", "cron")
	f.await("cron is enabled again", func() bool { return a.Exec("systemctl", "is-enabled", "cron").ExitCode == 0 })
	a.Run(f.t, "userdel", "deploy")
	f.await("deploy is back", func() bool { return a.Exec("id", "deploy").ExitCode == 0 })
	a.Run(f.t, "apt-get", "purge", "-qy", "cron")
	f.await("cron is installed again", func() bool {
		return a.Exec("systemctl", "is-active", "cron").ExitCode == 0 &&
			strings.Contains(a.Exec("dpkg-query", "-W", "-f", "${Status}", "cron").Stdout, "ok installed")
	})
	f.await("four repairs are told", func() bool { return strings.Count(f.events(), "web1  repaired") >= 4 })
}

// machineUnplugged: what a hub says while nobody can be reached comes later; what drifts
// is repaired at once.
func machineUnplugged(f *fleetOf, a *machine) {
	a.Unplug(f.t)
	f.commit("two")
	a.Run(f.t, "systemctl", "stop", "cron")
	f.await("cron runs again", func() bool { return a.Exec("systemctl", "is-active", "cron").ExitCode == 0 })
	if out := strings.TrimSpace(a.Run(f.t, "cat", "/etc/motd")); out != "one" {
		f.t.Errorf("a machine that nobody reaches has %q", out)
	}
	a.Plug(f.t)
	f.motd("two")
}

// machineSilence: a line on which packets are lost without a word, as behind a broken
// firewall, ends no connection; the agent notices, and comes back when it can. It takes a
// minute and a half to wait for that, so it is for long runs.
func machineSilence(f *fleetOf, a *machine) {
	if !full() {
		f.commit("three")
		f.motd("three")
		f.ready() // a run that is stopped before its end is undone
		return
	}
	a.Run(f.t, "apt-get", "install", "-qy", "nftables")
	a.Run(f.t, "nft", "add table inet cut; add chain inet cut out { type filter hook output priority 0; }; add chain inet cut in { type filter hook input priority 0; }; add rule inet cut out tcp dport { 7440, 7441 } drop; add rule inet cut in tcp sport { 7440, 7441 } drop")
	f.commit("three")
	f.await("the hub misses it", func() bool {
		return strings.Contains(f.hub.Exec("fettle", "status", "--fleet").Stdout, "connected  0 of 1")
	})
	a.Run(f.t, "nft", "delete", "table", "inet", "cut")
	f.motd("three")
	f.ready()
}

// machineDiskFull: an agent that can write nothing takes nothing, and half of nothing, and
// goes on when it can.
func machineDiskFull(f *fleetOf, a *machine) {
	a.Run(f.t, "systemctl", "stop", "fettle-agent")
	a.Run(f.t, "cp", "-a", "/var/lib/fettle", "/root/kept")
	a.Run(f.t, "mount", "-t", "tmpfs", "-o", "size=48m,mode=0700", "small", "/var/lib/fettle")
	a.Run(f.t, "cp", "-a", "/root/kept/.", "/var/lib/fettle/")
	a.Run(f.t, "systemctl", "start", "fettle-agent")
	f.await("it is back", func() bool {
		return strings.Contains(f.hub.Exec("fettle", "status", "--fleet").Stdout, "connected  1 of 1")
	})
	a.Exec("dd", "if=/dev/zero", "of=/var/lib/fettle/filler", "bs=4k") // as tmpfs gives it, until nothing is left
	f.commit("four")
	f.await("it says why", func() bool {
		return strings.Contains(a.Exec("journalctl", "-u", "fettle-agent", "-o", "cat").Stdout, "no space left on device")
	})
	if out := strings.TrimSpace(a.Run(f.t, "cat", "/etc/motd")); out != "three" {
		f.t.Errorf("a machine whose disk is full has %q", out)
	}
	a.Run(f.t, "rm", "/var/lib/fettle/filler")
	f.motd("four")
	a.Run(f.t, "systemctl", "stop", "fettle-agent")
	a.Run(f.t, "cp", "-a", "/var/lib/fettle/.", "/root/kept/")
	a.Run(f.t, "umount", "/var/lib/fettle")
	a.Run(f.t, "cp", "-a", "/root/kept/.", "/var/lib/fettle/")
	a.Run(f.t, "systemctl", "start", "fettle-agent")
}

// machineBoot: a machine that comes up where no hub is puts itself in order, and what is
// ordered behind the agent is started behind it.
func machineBoot(f *fleetOf, a *machine) {
	f.commit("before the boot")
	f.motd("before the boot")
	f.ready() // a run that is stopped before its end is undone
	f.hub.Run(f.t, "systemctl", "stop", "fettle-hub")
	a.WriteFile(f.t, "/etc/systemd/system/shop.service",
		"[Unit]\nAfter=fettle-agent.service\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c 'systemctl is-active fettle-agent >/root/seen'\n[Install]\nWantedBy=multi-user.target\n", 0o644)
	a.Run(f.t, "systemctl", "enable", "shop")
	a.Run(f.t, "systemctl", "stop", "fettle-agent")
	a.WriteFile(f.t, "/etc/motd", "while it was away\n", 0o644)
	a.Reboot(f.t)
	f.motd("before the boot")
	a.want("active", "cat", "/root/seen")
	f.hub.Run(f.t, "systemctl", "start", "fettle-hub")
	f.commit("five")
	f.motd("five")
}
