package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/hosts"
)

// makeHubUser is the command that hub init names on a host without the package.
const makeHubUser = "useradd --system --user-group --home-dir /var/lib/fettle-hub --no-create-home --shell /usr/sbin/nologin fettle-hub"

// hubUser creates the user of a hub on a host without the package, as hub init says.
func (m *machine) hubUser() {
	m.t.Helper()
	r := m.Exec("fettle", "hub", "init", "--fleet", "acme")
	if r.ExitCode == 0 || !strings.Contains(r.Stderr, makeHubUser) || m.has("/var/lib/fettle-hub") {
		m.t.Fatalf("a hub without a user gives %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	m.Run(m.t, strings.Fields(makeHubUser)...)
}

// TestHubUser: a hub that was set up as root gets its own user at its next start, and then works
// with few rights: it has no capability, other users read nothing of it, and a backup is restored
// for the same user.
func TestHubUser(t *testing.T) { eachRelease(t, hubAsUser) }

func hubAsUser(t *testing.T, r hosts.Release) {
	m := debMachine(t, r, "web1")
	m.Copy(t, sharedDeb(t), "/root/fettle.deb")
	m.installDeb()
	f := &fleetOf{t: t, hub: m, agents: []*machine{m}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s", m.Exec("sh", "-c",
				"fettle events; fettle alarm list; fettle agent status; journalctl -u fettle-agent -u fettle-hub -n 60 -o cat").Stdout)
		}
	})
	f.commit("one")
	m.Run(t, "fettle", "hub", "init", "--fleet", "acme", "--address", m.Addr, "--repository", "file:///srv/site",
		"--poll", "2s", "--user", "root")
	m.want("root root", "stat", "-c", "%U %G", "/var/lib/fettle-hub/keys")
	f.ranAsRoot()
	f.handsOver()
	f.rights()
	f.keepsOthersOut()
	m.compilesInside()
	m.sshInside()

	f.enrol(m, f.token("role=web", "1"), 0)
	m.Run(t, "systemctl", "enable", "--now", "fettle-agent")
	f.motd("one")
	f.commit("two")
	f.motd("two")
	f.ready()
	f.restored()
	f.commit("three")
	f.motd("three")
	f.lowPort()
}

// ranAsRoot runs the hub of root outside of its service until it serves, as earlier versions did in
// the service. A service of root is refused.
func (f *fleetOf) ranAsRoot() {
	f.t.Helper()
	r := f.hub.Exec("systemd-run", "--quiet", "--wait", "--pipe", "fettle", "hub", "run")
	if r.ExitCode == 0 || !strings.Contains(r.Stderr,
		"cannot run the hub in /var/lib/fettle-hub as a service of root") ||
		!strings.Contains(r.Stderr, "fettle hub chown --dir /var/lib/fettle-hub") {
		f.t.Fatalf("a service of root gives %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	f.hub.Run(f.t, "systemd-run", "--quiet", "--unit=earlier", "sh", "-c",
		"fettle hub run --socket /run/fettle/hub.sock; true")
	f.await("the hub of root serves at the former socket", func() bool { return f.token("role=web", "1") != "" })
	f.hub.Run(f.t, "systemctl", "stop", "earlier")
	f.hub.want("root", "stat", "-c", "%U", "/var/lib/fettle-hub/view.db")
}

// handsOver starts the service. A link in the directory leads nowhere.
func (f *fleetOf) handsOver() {
	f.t.Helper()
	m := f.hub
	m.Run(f.t, "ln", "-s", "/etc/shadow", "/var/lib/fettle-hub/keys/link")
	m.Exec("systemctl", "start", "fettle-hub")
	f.await("the link is refused", func() bool {
		return strings.Contains(m.Exec("journalctl", "-u", "fettle-hub", "-o", "cat").Stdout, "keys/link is a symbolic link")
	})
	m.want("root", "stat", "-c", "%U", "/etc/shadow")
	m.want("root", "stat", "-c", "%U", "/var/lib/fettle-hub/authority/authority.key")
	if state := m.Exec("systemctl", "is-active", "fettle-hub").Stdout; state == "active\n" {
		f.t.Errorf("the service of a hub that does not serve is %s", state)
	}
	m.Run(f.t, "rm", "/var/lib/fettle-hub/keys/link")
	m.Run(f.t, "systemctl", "enable", "fettle-hub")
	f.servesOnceStarted("restart")
	f.ofItsUser()
}

// servesOnceStarted starts the service; the next command is the first that the hub answers.
func (f *fleetOf) servesOnceStarted(start string) {
	f.t.Helper()
	f.hub.Run(f.t, "systemctl", start, "fettle-hub")
	r := f.hub.Exec("fettle", "token", "create", "--json")
	if r.ExitCode != 0 {
		f.t.Errorf("the first command gives %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	f.hub.want("active", "systemctl", "is-active", "fettle-hub")
}

// ofItsUser looks for files of other users in the directory, and for files that others can open.
func (f *fleetOf) ofItsUser() {
	f.t.Helper()
	f.hub.want("", "find", "/var/lib/fettle-hub", "!", "-user", "fettle-hub", "-o", "!", "-group", "fettle-hub", "-o",
		"!", "-type", "l", "-perm", "/077")
}

// status returns a line of the main process in /proc.
func (f *fleetOf) status(name string) string {
	f.t.Helper()
	pid := strings.TrimSpace(f.hub.Run(f.t, "systemctl", "show", "-P", "MainPID", "fettle-hub"))
	_, rest, _ := strings.Cut(f.hub.Run(f.t, "cat", "/proc/"+pid+"/status"), "\n"+name+":")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Join(strings.Fields(line), " ")
}

func (f *fleetOf) rights() {
	f.t.Helper()
	uid := strings.TrimSpace(f.hub.Run(f.t, "id", "-u", "fettle-hub"))
	const none = "0000000000000000"
	for name, want := range map[string]string{
		"Uid": strings.Join([]string{uid, uid, uid, uid}, " "), "NoNewPrivs": "1", "Seccomp": "2",
		"CapEff": none, "CapPrm": none, "CapInh": none, "CapBnd": none, "CapAmb": none,
	} {
		if got := f.status(name); got != want {
			f.t.Errorf("%s of the hub is %q, want %q", name, got, want)
		}
	}
	out := f.hub.Exec("systemd-analyze", "security", "--no-pager", "fettle-hub").Stdout
	if !strings.Contains(out, "2.0 OK") {
		f.t.Errorf("the hub is exposed more than before:\n%s", out)
	}
}

// keepsOthersOut: other users can neither use the socket nor read a key; even a socket that all can
// open serves only root.
func (f *fleetOf) keepsOthersOut() {
	f.t.Helper()
	const socket = "/run/fettle-hub/hub.sock"
	m := f.hub
	list := []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=/nonexistent",
		"fettle", "hub", "list"}
	m.want("fettle-hub 600", "stat", "-c", "%U %a", socket)
	if r := m.Exec(list...); r.ExitCode == 0 || !strings.Contains(r.Stderr, "permission denied") {
		f.t.Errorf("another user at the socket: %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	m.Run(f.t, "chmod", "666", socket)
	if r := m.Exec(list...); r.ExitCode == 0 || r.Stdout != "" {
		f.t.Errorf("another user at an open socket: %d\n%s%s", r.ExitCode, r.Stdout, r.Stderr)
	}
	m.Run(f.t, "fettle", "hub", "list")
	m.Run(f.t, "chmod", "600", socket)
	if r := m.Exec("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "cat",
		"/var/lib/fettle-hub/authority/authority.key"); r.ExitCode == 0 {
		f.t.Error("another user reads a key")
	}
}

// inside runs a command with the settings of the service instead of the hub, and returns its output.
func (m *machine) inside(command string) string {
	m.t.Helper()
	var unit strings.Builder
	for line := range strings.Lines(m.Run(m.t, "cat", "/usr/lib/systemd/system/fettle-hub.service")) {
		switch name, _, _ := strings.Cut(line, "="); name {
		case "ExecStartPre", "Restart", "RuntimeDirectory", "RuntimeDirectoryPreserve":
		case "ExecStart":
			unit.WriteString("Type=oneshot\nStandardOutput=truncate:/run/inside\nExecStart=" + command + "\n")
		default:
			unit.WriteString(line)
		}
	}
	m.WriteFile(m.t, "/etc/systemd/system/inside.service", unit.String(), 0o644)
	m.Run(m.t, "systemctl", "daemon-reload")
	m.Exec("systemctl", "start", "inside")
	return m.Run(m.t, "cat", "/run/inside")
}

// compilesInside: the processes that compile have the same limits in the service as elsewhere.
func (m *machine) compilesInside() {
	m.t.Helper()
	walls := func(out string) (lines []string) {
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "  compiling: no ") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	inside := m.inside("/usr/bin/fettle version -v")
	if in, free := walls(inside), walls(m.Run(m.t, "fettle", "version", "-v")); len(free) < 2 ||
		strings.Join(in, "") != strings.Join(free, "") {
		m.t.Errorf("in the service the process that compiles has\n%s\nand elsewhere\n%s", inside, free)
	}
}

// sshInside: git and ssh work in the service, with a key of its user and no home directory.
func (m *machine) sshInside() {
	m.t.Helper()
	m.Run(m.t, "sh", "-exc", `install -d -m 755 /etc/fettle/hub
ssh-keygen -q -t ed25519 -N '' -f /root/key
install -o fettle-hub -m 600 /root/key /etc/fettle/hub/key
install -d -m 700 /root/.ssh
cat /root/key.pub >>/root/.ssh/authorized_keys
echo "127.0.0.1 $(cat /etc/ssh/ssh_host_ed25519_key.pub)" >/etc/fettle/hub/known_hosts`)
	const ssh = "ssh -F /dev/null -i /etc/fettle/hub/key -o IdentitiesOnly=yes -o UserKnownHostsFile=/etc/fettle/hub/known_hosts -o BatchMode=yes"
	out := m.inside(`/usr/bin/env HOME=/nonexistent "GIT_SSH_COMMAND=` + ssh +
		`" git ls-remote ssh://root@127.0.0.1/srv/site`)
	if !strings.Contains(out, "refs/heads/main") {
		m.t.Errorf("git over ssh in the service:\n%s", out)
	}
}

// restored saves the hub and restores it, as root.
func (f *fleetOf) restored() {
	f.t.Helper()
	m := f.hub
	m.Run(f.t, "fettle", "hub", "backup", "/root/backup.json")
	m.want("root 600", "stat", "-c", "%U %a", "/root/backup.json")
	m.Run(f.t, "systemctl", "stop", "fettle-hub")
	m.Run(f.t, "rm", "-r", "/var/lib/fettle-hub")
	m.Run(f.t, "fettle", "hub", "restore", "/root/backup.json")
	f.ofItsUser()
	f.servesOnceStarted("start")
	f.ready()
	f.ofItsUser()
	m.Run(f.t, "fettle", "hub", "backup", "/root/backup.json")
	m.Run(f.t, "fettle", "hub", "check")
}

// lowPort: a port below 1024 needs a drop-in, which gives one capability.
func (f *fleetOf) lowPort() {
	f.t.Helper()
	m := f.hub
	m.Run(f.t, "sed", "-i", `s/"api": ":7440"/"api": ":443"/`, "/var/lib/fettle-hub/hub.json")
	m.Run(f.t, "systemctl", "restart", "--no-block", "fettle-hub")
	f.await("the port is refused", func() bool {
		return strings.Contains(m.Exec("journalctl", "-u", "fettle-hub", "-o", "cat").Stdout, "CAP_NET_BIND_SERVICE")
	})
	m.WriteFile(f.t, "/etc/systemd/system/fettle-hub.service.d/ports.conf",
		"[Service]\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n", 0o644)
	m.Run(f.t, "systemctl", "daemon-reload")
	f.servesOnceStarted("restart")
	for _, name := range []string{"CapEff", "CapBnd"} {
		if got := f.status(name); got != "0000000000000400" {
			f.t.Errorf("%s of the hub is %s", name, got)
		}
	}
}
