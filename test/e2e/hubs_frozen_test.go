package e2e

import (
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// answerTime is how long a command may take while a hub is frozen, in seconds. The documents promise 10;
// a busy test machine needs more for the process itself.
const answerTime = "15"

// TestFrozenHub stops the process of one of three hubs with a signal: its connections stay open. Each
// command at another hub answers, and status commands name the frozen hub and say what works.
func TestFrozenHub(t *testing.T) {
	sample.Group(t, 3)
	t.Parallel()
	f := newFleetOfHubs(t, 3, 1)
	f.begin()
	frozen := f.hubs[2]
	token := f.output(f.hubs[0], "fettle", "hub", "token")
	f.connect(f.agents[0], frozen)
	frozen.Run(t, "systemctl", "kill", "-s", "STOP", "--kill-whom=main", "fettle-hub")
	f.whileFrozen("at once", token)
	f.await("hub1 notices", func() bool {
		return strings.Contains(f.hubs[1].Exec("fettle", "alarm", "list").Stdout, "hub3 is not connected. Everything works.")
	})
	f.await("web1 is connected to another hub", func() bool {
		return f.hubs[1].Exec("fettle", "status", "-t", "web1", "--via", "hub").ExitCode == success
	})
	f.whileFrozen("later", token)
	frozen.Run(t, "systemctl", "kill", "-s", "CONT", "--kill-whom=main", "fettle-hub")
	f.kept(3)
}

// connect restarts the agent until it is connected to this hub: it takes one of them at random.
func (f *hubsOf) connect(a, to *machine) {
	f.t.Helper()
	f.await(a.Name+" is connected to "+to.Name, func() bool {
		if strings.Contains(a.Exec("ss", "-Htn", "state", "established", "dst", to.Addr+":7441").Stdout, ":7441") {
			return f.hubs[1].Exec("fettle", "status", "-t", a.Name, "--via", "hub").ExitCode == success
		}
		a.Run(f.t, "systemctl", "reset-failed", "fettle-agent")
		a.Run(f.t, "systemctl", "restart", "fettle-agent")
		f.await(a.Name+" is connected", func() bool {
			return a.Exec("sh", "-c", "ss -Htn state established | grep -q :7441").ExitCode == 0
		})
		return false
	})
}

// whileFrozen runs each command at a hub that runs.
func (f *hubsOf) whileFrozen(when, token string) {
	connected := success
	if when == "at once" {
		connected = failed // the agent is connected to the frozen hub
	}
	for _, c := range []struct {
		argv  string
		code  int
		names bool // the frozen hub
	}{
		{"fettle status --fleet", success, when == "later"},
		{"fettle hub list", success, true},
		{"fettle hub check", checkFailed, true},
		{"fettle alarm list", success, when == "later"},
		{"fettle target list", success, false},
		{"fettle target show web1", success, false},
		{"fettle target history web1", success, false},
		{"fettle events", success, false},
		{"fettle request list", success, false},
		{"fettle token list", success, false},
		{"fettle user list", success, false},
		{"fettle status -t web1 --via hub", connected, when == "at once"},
		{"fettle target pin -t web1 --module web --branch main", success, false},
		{"fettle target unpin -t web1 --module web", success, false},
		{"fettle target freeze -t web1 --reason test", success, false},
		{"fettle target unfreeze -t web1", success, false},
		{"fettle hub join https://" + f.hubs[0].Addr + ":7440 --token-file - --address " + f.agents[0].Addr +
			" --user root", failed, true},
	} {
		by := f.hubs[1]
		if strings.Contains(c.argv, "join") {
			by = f.agents[0]
		}
		r := by.ExecInput(strings.NewReader(token), append([]string{"timeout", answerTime}, strings.Fields(c.argv)...)...)
		if r.ExitCode != c.code || c.names && !strings.Contains(r.Stdout+r.Stderr, "hub3") {
			f.t.Errorf("%s: %s gave %d instead of %d, or does not name hub3:\n%s%s", when, c.argv, r.ExitCode, c.code,
				r.Stdout, r.Stderr)
		}
	}
}
