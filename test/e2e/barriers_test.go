package e2e

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// together is a barrier of all hosts, a signal of web1, and the strategy at-once.
const together = atOnce + `barrier "pair" {
  labels = { role = "web" }
}
signal "go" { targets = ["web1"] }
`

// beginAndEnd is a module that records TEXT and the time in ms since 1970 before and after a WAIT.
const beginAndEnd = `file "/etc/motd" { content = "TEXT\n" }
exec "begin" {
  command = ["sh", "-c", "echo TEXT $(date +%s%3N) >>/var/log/begins"]
  unless  = ["grep", "-q", "^TEXT ", "/var/log/begins"]
  after   = [file["/etc/motd"]]
}
WAIT
exec "end" {
  command = ["sh", "-c", "echo TEXT $(date +%s%3N) >>/var/log/ends"]
  unless  = ["grep", "-q", "^TEXT ", "/var/log/ends"]
}
`

// atBarrier waits for all hosts.
const atBarrier = `wait_for "everyone" {
  barrier = "pair"
  timeout = "5m"
  after   = [exec.begin]
  before  = [exec.end]
}
`

// forSignal sends a signal on web1, and waits for it on the other hosts.
const forSignal = `fact "hostname" { type = string }
send_signal "go" {
  when    = fact.hostname == "web1"
  payload = "TEXT"
  after   = [exec.begin]
  before  = [exec.end]
}
wait_for "go" {
  when    = fact.hostname != "web1"
  signal  = "go"
  since   = "run"
  timeout = "5m"
  after   = [exec.begin]
  before  = [exec.end]
}
`

// TestHostsWait: three hosts wait for each other at a barrier, also if one of them is retired, and if a run that waits
// is killed. Then one host waits for a signal of another one.
func TestHostsWait(t *testing.T) {
	sample.Group(t, 9)
	t.Parallel()
	f := newFleetOfHubs(t, 1, 3)
	f.policy = together
	f.begin()
	hub, web1, web2, web3 := f.hubs[0], f.agents[0], f.agents[1], f.agents[2]
	shows := func(text string) func() bool {
		return func() bool { return strings.Contains(hub.Exec("fettle", "barrier", "list").Stdout, text) }
	}
	f.await("the barrier", shows("pair: 0 of 3"))
	f.module = strings.ReplaceAll(beginAndEnd, "WAIT\n", atBarrier)
	f.commit("two")
	f.continued("two", web1, web2, web3)
	f.opened(1, 3)

	web3.Run(t, "systemctl", "stop", "fettle-agent")
	f.commit("three")
	f.await("two hosts wait", shows("pair: 2 of 3"))
	hub.Run(t, "fettle", "target", "retire", "web3", "--yes", "--reason", "sold")
	f.agents = f.agents[:2]
	f.continued("three", web1, web2)
	f.opened(2, 2)

	web2.Run(t, "systemctl", "stop", "fettle-agent")
	f.commit("four")
	f.await("one host waits", shows("pair: 1 of 2"))
	web1.Run(t, "systemctl", "kill", "--signal=KILL", "fettle-agent")
	f.await("web1 recovers its run, and arrives again", func() bool {
		return strings.Count(hub.Exec("fettle", "events", "-t", "web1").Stdout, "barrier pair: arrived") == 4
	})
	web2.Run(t, "systemctl", "start", "fettle-agent")
	f.continued("four", web1, web2)
	f.opened(3, 2)

	web1.Run(t, "systemctl", "stop", "fettle-agent")
	f.module = strings.ReplaceAll(beginAndEnd, "WAIT\n", forSignal)
	f.commit("five")
	f.await("web2 waits for the signal", func() bool { return f.moment(web2, "begins", "five") > 0 })
	web1.Run(t, "systemctl", "start", "fettle-agent")
	f.continued("five", web1, web2)
	if got := hub.Exec("fettle", "signal", "list").Stdout; !strings.Contains(got, `target web1  "five"`) {
		t.Errorf("the signals are %s", got)
	}
}

// moment returns the time of a text in a log of the module, 0 if the host has not recorded it. It reports a text that
// was recorded twice.
func (f *hubsOf) moment(a *machine, log, text string) (at int) {
	f.t.Helper()
	for _, line := range strings.Split(a.Exec("cat", "/var/log/"+log).Stdout, "\n") {
		if ms, is := strings.CutPrefix(line, text+" "); is {
			if at != 0 {
				f.t.Errorf("%s recorded %s twice in %s", a.Name, text, log)
			}
			at, _ = strconv.Atoi(ms)
		}
	}
	return at
}

// continued waits until hosts have continued after their wait. web1 began before any other host continued, and for a
// barrier, all hosts began before.
func (f *hubsOf) continued(text string, all ...*machine) {
	f.t.Helper()
	for _, a := range all {
		f.await(a.Name+" continues with "+text, func() bool { return f.moment(a, "ends", text) > 0 })
	}
	for _, a := range all {
		for _, b := range all {
			if a != all[0] && text == "five" {
				continue
			}
			if began, ended := f.moment(a, "begins", text), f.moment(b, "ends", text); began == 0 || ended < began {
				f.t.Errorf("%s: %s began at %d, and %s continued at %d", text, a.Name, began, b.Name, ended)
			}
		}
	}
}

// opened waits for the event of the newest generation, and reports other generations and other numbers of arrivals.
func (f *hubsOf) opened(generation, arrivals int) {
	f.t.Helper()
	events := ""
	f.await("the barrier opened", func() bool {
		events = f.hubs[0].Exec("fettle", "events").Stdout
		return strings.Contains(events, fmt.Sprintf("generation %d opened", generation))
	})
	if !strings.Contains(events, fmt.Sprintf("generation %d opened with %d arrivals", generation, arrivals)) ||
		strings.Contains(events, fmt.Sprintf("generation %d opened", generation+1)) {
		f.t.Errorf("the events are %s", events)
	}
}
