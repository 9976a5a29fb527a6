package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/test/sample"
)

// carefully delivers changes in waves, as by default.
const carefully = "policy { rollout = \"careful\" }\n"

// serves is a module with a service, which records each applied text in /var/log/ended.
const serves = `file "unit" {
  path    = "/etc/systemd/system/web.service"
  content = "[Service]\n# TEXT\nUNIT"
  notify  = [service.web.restart]
}
service "web" {
  running = true
  after   = [file.unit]
}
file "/etc/motd" {
  content = "TEXT\n"
  notify  = [exec.count.run]
}
exec "count" {
  command = ["sh", "-c", "cat /etc/motd >>/var/log/ended"]
  lazy    = true
}
`

// The unit runs runs. The unit dies runs for some seconds, and cannot be started again.
const (
	runs = `ExecStart=/bin/sleep infinity\n`
	dies = `ExecStartPre=/usr/bin/test ! -e /run/web.died\n` +
		`ExecStart=/bin/sh -c 'sleep 5; touch /run/web.died; exit 1'\n`
)

// targetsOfStory returns the number of booted targets: 12 in the long tests.
func targetsOfStory() int {
	if os.Getenv("FETTLE_LONG") != "" {
		return 12
	}
	return 5
}

// TestRollouts makes a fleet of three hubs with the default strategy. A good commit reaches all targets in waves, also
// a target that was off. A commit whose service dies after some seconds stops at the first targets, which return alone.
// Its content stays held after the hub that leads is lost. A hub that is lost in the middle of a wave is replaced by
// another one, and no target gets the content twice.
func TestRollouts(t *testing.T) {
	sample.Group(t, 13)
	t.Parallel()
	f := newFleetOfHubs(t, 3, targetsOfStory())
	f.module = strings.ReplaceAll(serves, "UNIT", runs)
	f.begin()
	f.policy = carefully
	f.story(t, []chapter{{"Good", goodCommit}, {"ServiceDies", serviceDies}, {"HeldWithoutLeader", heldWithoutLeader},
		{"KilledInWave", killedInWave}})
}

// chapter is a part of a story. It begins where the one before it ends.
type chapter struct {
	name string
	f    func(*hubsOf)
}

// story plays chapters until one fails.
func (f *hubsOf) story(t *testing.T, chapters []chapter) {
	for _, c := range chapters {
		ok := t.Run(c.name, func(t *testing.T) {
			g := f.with(t)
			c.f(g)
			f.given, f.module, f.policy = g.given, g.module, g.policy
		})
		if !ok {
			return
		}
	}
}

// newestRollout is the newest rollout in the list of a hub.
type newestRollout struct {
	ID    string `json:"id"`
	Cause string `json:"cause"`
	Phase string `json:"phase"`
	Held  bool   `json:"held"`
}

func (f *hubsOf) newest(by *machine) newestRollout {
	var page struct {
		Rollouts []newestRollout `json:"rollouts"`
	}
	r := by.Exec("fettle", "rollout", "list", "--json")
	if r.ExitCode != 0 || json.Unmarshal([]byte(r.Stdout), &page) != nil || len(page.Rollouts) == 0 {
		return newestRollout{}
	}
	return page.Rollouts[0]
}

// ends waits until the rollout of the last commit has a phase.
func (f *hubsOf) ends(by *machine, phase string) {
	f.t.Helper()
	last := f.given[len(f.given)-1]
	f.await("the rollout of "+last+" is "+phase, func() bool {
		r := f.newest(by)
		return strings.HasSuffix(r.Cause, ": "+last) && r.Phase == phase
	})
}

// having returns the agents that ever applied a text.
func (f *hubsOf) having(text string) (out []*machine) {
	for _, a := range f.agents {
		if slices.Contains(lines(a, "/var/log/ended"), text) {
			out = append(out, a)
		}
	}
	return out
}

// first waits until the first target of a rollout has the last text, and demands that no other target has it.
func (f *hubsOf) first() {
	f.t.Helper()
	last := f.given[len(f.given)-1]
	var have []*machine
	f.await("a target has "+last, func() bool {
		have = f.having(last)
		return len(have) > 0
	})
	if len(have) > 1 {
		f.t.Errorf("%d targets have %s at the same time in the first wave", len(have), last)
	}
}

// goodCommit: the first target gets a commit alone, and then all targets get it. A target that is off during the
// rollout gets it when it returns.
func goodCommit(f *hubsOf) {
	off := f.agents[len(f.agents)-1]
	off.PowerOff(f.t)
	n := len(f.agents)
	f.await("the hubs notice", func() bool {
		return strings.Contains(f.hubs[0].Exec("fettle", "status", "--fleet").Stdout,
			fmt.Sprintf("connected  %d of %d", n-1, n))
	})
	all := f.agents
	f.agents = all[:n-1]
	f.commit("two")
	f.first()
	f.arrived()
	f.ends(f.hubs[1], "completed-with-exceptions")
	f.agents = all
	off.Start(f.t)
	f.arrived()
}

// serviceDies: the service of a commit dies before the target counts as ready. At most two targets are affected, and
// all have the previous text again.
func serviceDies(f *hubsOf) {
	before := f.given[len(f.given)-1]
	f.module = strings.ReplaceAll(serves, "UNIT", dies)
	f.commit("bad")
	f.ends(f.hubs[2], "rolled-back")
	if n := len(f.having("bad")); n < 1 || n > 2 {
		f.t.Errorf("%d targets had the commit", n)
	}
	f.held(f.hubs[2])
	f.given[len(f.given)-1] = before
	f.arrived()
	for _, a := range f.agents {
		f.await(a.Name+" has its service again", func() bool {
			return a.Exec("systemctl", "is-active", "web").ExitCode == 0
		})
	}
}

// held demands that a hub shows the content as held.
func (f *hubsOf) held(by *machine) {
	f.t.Helper()
	if r := f.newest(by); !r.Held {
		f.t.Errorf("%s does not show that the content is held: %+v", by.Name, r)
	}
}

// heldWithoutLeader: the hub that leads is lost, and another hub still holds the content.
func heldWithoutLeader(f *hubsOf) {
	had := len(f.having("bad"))
	lost := f.loseLeader()
	f.held(f.leader(lost))
	f.found(lost)
	for _, h := range f.hubs {
		f.held(h)
	}
	if n := len(f.having("bad")); n != had {
		f.t.Errorf("%d targets got the held content from another hub", n-had)
	}
}

// loseLeader kills the hub that leads.
func (f *hubsOf) loseLeader() *machine {
	f.t.Helper()
	leads := f.leader(nil)
	leads.Run(f.t, "systemctl", "kill", "-s", "KILL", "fettle-hub")
	leads.Run(f.t, "systemctl", "stop", "fettle-hub")
	return leads
}

// found starts a hub that was lost.
func (f *hubsOf) found(lost *machine) {
	f.t.Helper()
	lost.Run(f.t, "systemctl", "start", "fettle-hub")
	f.kept(3)
}

// killedInWave: the hub that leads is lost when the first target has a commit. Another hub continues, and each target
// gets the commit once.
func killedInWave(f *hubsOf) {
	f.module = strings.ReplaceAll(serves, "UNIT", runs)
	f.commit("three")
	f.first()
	lost := f.loseLeader()
	f.arrived()
	f.ends(f.leader(lost), "completed")
	f.found(lost)
	for _, a := range f.agents {
		applied := lines(a, "/var/log/ended")
		if n := len(slices.DeleteFunc(applied, func(text string) bool { return text != "three" })); n != 1 {
			f.t.Errorf("%s has applied the commit %d times", a.Name, n)
		}
	}
}
