package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// hubSecret is a secret that only hubs can decrypt.
const hubSecret = "correct-horse-battery-staple"

// look is the command of a task. It fails if it sees more than its secret.
const look = `#!/bin/sh
set -e
echo "the secret is $SECRET" >&2
test "$SECRET" = ` + hubSecret + `
test "$(id -un)" = fettle-hub-tasks
! ls /var/lib/fettle-hub/keys
! curl -s --unix-socket /run/fettle-hub/hub.sock http://hub/v1/targets
if test -e /etc/slow; then sleep 600; fi
`

const looking = atOnce + `universe "main" {
  task "look" {
    command = ["/usr/local/bin/look"]
    secrets = { SECRET = "hubs/look" }
  }
}
`

// TestUniverse: the service of the package runs a task of the hub as a user of its own, after root has allowed it. No
// target has the secret of the task. If the hub is killed, its command is killed.
func TestUniverse(t *testing.T) {
	sample.Group(t, 9)
	t.Parallel()
	f := newFleetOfHubs(t, 1, 1)
	f.begin()
	hub := f.hubs[0]
	hub.Run(t, "apt-get", "install", "-qy", "--no-install-recommends", "curl", "procps")
	hub.WriteFile(t, "/usr/local/bin/look", look, 0o755)
	key := strings.TrimSpace(hub.Run(t, "runuser", "-u", "fettle-hub", "--", "fettle", "secret", "identity",
		"/var/lib/fettle-hub/identity"))
	f.inSite(hub, "fettle secret init")
	f.inSite(hub, "fettle secret add-recipient hub hub1 "+key+" --only 'hubs/*'")
	f.inSite(hub, "printf %s "+hubSecret+" | fettle secret set hubs/look")
	f.policy = looking
	f.commit("two")
	f.arrived()
	hub.Run(t, "useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin",
		"fettle-hub-tasks")
	f.task(hub, "waiting", "systemctl enable --now fettle-hub-tasks")
	hub.Run(t, "systemctl", "enable", "--now", "fettle-hub-tasks")
	f.task(hub, "done", "hub hub1")

	hub.WriteFile(t, "/etc/slow", "", 0o644)
	hub.Run(t, "fettle", "task", "retry", "universe/main", "look", "--reason", "once more")
	runs := func() bool { return hub.Exec("pgrep", "-f", "^sleep 600").ExitCode == 0 }
	f.await("the command runs", runs)
	hub.Run(t, "systemctl", "kill", "-s", "KILL", "fettle-hub")
	f.await("the command was killed", func() bool { return !runs() })
	f.task(hub, "unknown", "the hub stopped during the attempt")
	f.noSecret()
}

// inSite runs a script in the repository.
func (f *hubsOf) inSite(m *machine, script string) {
	f.t.Helper()
	m.Run(f.t, "env", "-C", "/srv/site", "HOME=/root", "sh", "-c", script)
}

// task waits until the list of tasks shows a state and a text.
func (f *hubsOf) task(m *machine, state, text string) {
	f.t.Helper()
	f.await("the task is "+state, func() bool {
		out := m.Exec("fettle", "task", "list").Stdout
		return strings.Contains(out, " "+state+" ") && strings.Contains(out, text)
	})
}

// noSecret demands that the secret is in no file of a host, except the command, and in no log.
func (f *hubsOf) noSecret() {
	f.t.Helper()
	for _, m := range append(f.hubs[:1:1], f.agents...) {
		out := m.Exec("sh", "-c", "grep -rlF "+hubSecret+" /var /etc /run /srv /tmp /root 2>/dev/null; "+
			"journalctl -o cat | grep -F "+hubSecret)
		if text := strings.TrimSpace(out.Stdout); text != "" {
			f.t.Errorf("%s has the secret: %s", m.Name, text)
		}
	}
}
