package e2e

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// twoAtATime is a lock with two slots for runs, and the strategy at-once.
const twoAtATime = atOnce + `lock "db" {
  slots     = 2
  lease     = "15s"
  on_expiry = "free"
}
`

// slow is a module whose action, under the lock, records its begin and its end in ms since 1970.
const slow = `file "/etc/motd" {
  content = "TEXT\n"
  notify  = [exec.work.run]
  lock    = "db"
}
exec "work" {
  command = ["sh", "-c", <<-EOT
    cd /var/log; date +%s%3N >>begins; echo $FETTLE_LOCK_DB_TOKEN >>tokens
    sleep SECONDS; date +%s%3N >>ends; cat /etc/motd >>ended
    EOT
  ]
  timeout = "10m"
  lazy    = true
}
`

// TestRunsInTurn: of three hosts that get a change at the same time, two run at a time, because the lock has two slots.
// If an agent is killed in the run and does not return, its slot becomes free after the lease, and the third host runs.
func TestRunsInTurn(t *testing.T) {
	sample.Group(t, 15)
	t.Parallel()
	f := newFleetOfHubs(t, 1, 3)
	f.policy = twoAtATime
	f.module = strings.ReplaceAll(slow, "SECONDS", "3")
	f.begin()
	f.atMostTwo()
	hub := f.hubs[0]
	locks := func() string { return hub.Exec("fettle", "lock", "list").Stdout }
	free := func() bool { return strings.Contains(locks(), "db: 0 of 2") }
	f.await("the slots are free", free)
	ran := f.agents[0].Exec("fettle", "run", "--lock", "db", "--", "sh", "-c", "echo token=$FETTLE_LOCK_DB_TOKEN")
	token, _ := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(ran.Stdout), "token="))
	if ran.ExitCode != 0 || token < 4 {
		t.Errorf("a program under the lock ends with %d, and prints %q and %q", ran.ExitCode, ran.Stdout, ran.Stderr)
	}
	f.await("the slot of the program is free", free)
	f.module = strings.ReplaceAll(slow, "SECONDS", "300")
	f.commit("two")
	f.await("a host waits for a slot", func() bool { return strings.Contains(locks(), "waits for a slot") })
	var runs, waits *machine
	for _, a := range f.agents {
		if len(f.times(a, "begins")) == 2 {
			runs = a
		} else {
			waits = a
		}
	}
	if runs == nil || waits == nil {
		t.Fatalf("no host waits, or none runs: %s", locks())
	}
	runs.Run(t, "mv", "/var/lib/fettle/agent/identity", "/root/identity") // systemd cannot start the agent again
	runs.Run(t, "systemctl", "kill", "--signal=KILL", "fettle-agent")
	f.await("the waiting host runs", func() bool { return len(f.times(waits, "begins")) == 2 })
	if !strings.Contains(locks(), "lost its slot") {
		t.Errorf("%s did not lose its slot: %s", runs.Name, locks())
	}
}

// times returns the numbers in a log of the module.
func (f *hubsOf) times(a *machine, log string) (out []int) {
	for _, line := range strings.Fields(a.Exec("cat", "/var/log/"+log).Stdout) {
		n, err := strconv.Atoi(line)
		if err != nil {
			f.t.Fatalf("%s has the line %q in %s", a.Name, line, log)
		}
		out = append(out, n)
	}
	return out
}

// atMostTwo reports more than two hosts that worked at the same time, and tokens that do not increase.
func (f *hubsOf) atMostTwo() {
	var tokens []int
	for _, a := range f.agents {
		from, n := f.times(a, "begins")[0], 0
		for _, b := range f.agents {
			if f.times(b, "begins")[0] <= from && from < f.times(b, "ends")[0] {
				n++
			}
		}
		if n > 2 {
			f.t.Errorf("%d hosts worked at the same time as %s", n, a.Name)
		}
		tokens = append(tokens, f.times(a, "tokens")...)
	}
	if slices.Sort(tokens); len(slices.Compact(tokens)) != 3 || tokens[0] == 0 {
		f.t.Errorf("the tokens are %v", tokens)
	}
}
