package e2e

import (
	"os"
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// TestLeaving removes the package from a host that is a hub and an agent of its own fleet:
// it is refused during a run and before a confirmation. Then the commands of
// docs/leaving.md leave nothing of fettle behind.
func TestLeaving(t *testing.T) { eachRelease(t, leaving) }

func leaving(t *testing.T, r hosts.Release) {
	m := debMachine(t, r, "web1")
	before := m.Snapshot(t)
	m.Copy(t, sharedDeb(t), "/root/fettle.deb")
	m.installDeb()
	f := &fleetOf{t: t, hub: m, agents: []*machine{m}}
	f.commit("one")
	m.Run(t, "fettle", "hub", "init", "--fleet", "acme", "--address", m.Addr, "--repository", "file:///srv/site",
		"--poll", "5s")
	m.Run(t, "systemctl", "enable", "--now", "fettle-hub")
	f.await("a token", func() bool { return f.token("role=web", "1") != "" })
	f.enrol(m, f.token("role=web", "1"), 0)
	m.Run(t, "systemctl", "enable", "--now", "fettle-agent", "fettle-apply.timer")
	f.motd("one")
	f.ready()

	m.upgradeStopsNothing()
	m.removalRefused()
	m.removalStops()
	m.installDeb()
	m.want("disabled", "systemctl", "is-enabled", "fettle-agent")
	m.Run(t, "systemctl", "start", "fettle-hub", "fettle-agent")
	f.ready()

	page := commandsOf(t, "../../docs/leaving.md")
	if len(page) < 5 {
		t.Fatalf("the page has only %d blocks of commands", len(page))
	}
	var out string
	for _, commands := range page {
		got := m.Run(t, "sh", "-exc", commands)
		t.Logf("%s\n%s", commands, got)
		out += got
	}
	for _, dir := range []string{"/var/lib/fettle", "/var/lib/fettle-hub", "/etc/fettle"} {
		if !strings.Contains(out, "fettle: "+dir+" remains") {
			t.Errorf("a purge does not name %s", dir)
		}
	}
	m.Run(t, "rm", "-rf", "/srv/site")
	if r := m.Exec("sh", "-c",
		"ls -d /var/lib/fettle* /etc/fettle /usr/bin/fettle ~/.cache/fettle /run/fettle"); r.Stdout != "" {
		t.Errorf("after leaving there is\n%s", r.Stdout)
	}
	m.want("", "pgrep", "-l", "fettle")
	theirs := append(remains(), "/root/fettle.deb", "/root/.gitconfig", "/var/lib/systemd/deb-systemd-helper-*/**",
		"unit network.target") // reached once, it stays so
	for _, line := range hosts.Compare(before, m.Snapshot(t), theirs) {
		t.Errorf("after leaving: %s", line)
	}
}

// upgradeStopsNothing installs the package over itself: the agent and the hub go on, since
// the run in progress may be the one that upgrades the package.
func (m *machine) upgradeStopsNothing() {
	m.t.Helper()
	pids := []string{"systemctl", "show", "-P", "MainPID", "fettle-agent", "fettle-hub"}
	before := strings.TrimSpace(m.Run(m.t, pids...))
	m.Run(m.t, "dpkg", "--install", "/root/fettle.deb")
	m.want(before, pids...)
	m.want("enabled\nenabled", "systemctl", "is-enabled", "fettle-agent", "fettle-hub")
}

// removalRefused tries to remove the package while fettle works on the host.
func (m *machine) removalRefused() {
	m.t.Helper()
	refused := func(want string) {
		m.t.Helper()
		r := m.Exec("dpkg", "--remove", "fettle")
		if r.ExitCode == 0 || !strings.Contains(r.Stderr, want) {
			m.t.Fatalf("the removal gives %d, and does not say %q:\n%s%s", r.ExitCode, want, r.Stdout, r.Stderr)
		}
		m.want("active\nactive", "systemctl", "is-active", "fettle-agent", "fettle-hub")
		m.want("installed", "dpkg-query", "-W", "-f", "${db:Status-Status}", "fettle")
	}
	cmd := m.hold("/var/lib/fettle/lock")
	refused("a run is in progress")
	cmd()
}

// hold takes the lock of a file as a run does, until the returned function is called.
func (m *machine) hold(lock string) func() {
	m.t.Helper()
	m.Run(m.t, "systemd-run", "--quiet", "--unit=holder", "flock", lock, "sleep", "infinity")
	m.await("the lock", func() bool { return m.Exec("flock", "--nonblock", lock, "true").ExitCode != 0 })
	return func() { m.Run(m.t, "systemctl", "stop", "holder") }
}

// removalStops removes the package: nothing of fettle runs, and a hub and an agent that were
// enabled do not come back by themselves.
func (m *machine) removalStops() {
	m.t.Helper()
	m.Run(m.t, "dpkg", "--remove", "fettle")
	m.want("", "pgrep", "-l", "fettle")
	m.want("", "sh", "-c",
		"ls /etc/systemd/system/*/fettle-agent* /etc/systemd/system/*/fettle-hub* /etc/systemd/system/*/fettle-*.timer 2>/dev/null")
	m.want("one", "cat", "/etc/motd")
}

// commandsOf returns the sh blocks of a page, each as one script.
func commandsOf(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```sh\n")[1:] {
		commands, _, closed := strings.Cut(part, "```")
		if !closed {
			t.Fatalf("%s: a block of commands has no end", page)
		}
		blocks = append(blocks, commands)
	}
	return blocks
}
