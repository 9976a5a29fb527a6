package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"time"
)

// ofSlots are the faults of hubs and of their connections that histories of slots have.
var ofSlots = regexp.MustCompile(`^(hub|leader) (killed|paused|partitioned)|partitioned|^one direction|^lossy|` +
	`^connections reset|^quorum|^all hubs|^clock`)

// TestSlotsOfHosts: of all hosts, at most two work with a slot at the same time, while runs, agents and hubs are killed
// or stopped, hosts and hubs are partitioned, and clocks of hubs jump. All are real processes.
//
//	FETTLE_CHAOS=1m go test -v -run TestSlotsOfHosts ./test/chaos                  # one history of some minutes
//	FETTLE_CHAOS=1h go test -timeout 2h -v -run TestSlotsOfHosts ./test/chaos
func TestSlotsOfHosts(t *testing.T) {
	requireLong(t)
	length, seed, only := options(t)
	w := newWorld(t, &world{jumps: true, hosts: agentCount, settings: slotSettings})
	c := &run{world: w, fault: "start", over: map[string]bool{}, frozen: map[string]bool{}}
	t.Logf("the fleet exists after %s", time.Since(w.began).Round(time.Second))
	c.await("the lock is declared", func(ctx context.Context) error {
		_, err := (&slotRuns{run: c}).holds(ctx, c.agents[0])
		return err
	})
	s := c.beginSlots(seed)
	began, n := time.Now(), 0
	for again := true; again; n++ {
		s.history(rand.New(rand.NewPCG(seed+uint64(n), 0)), only, time.Minute)
		again = time.Since(began) < length
	}
	s.end()
	s.judgeSlots()
	s.judgePanics()
	t.Logf("%d histories from seed %d in %s: %d runs, %d with a slot, %d lost hosts", n, seed,
		time.Since(began).Round(time.Second), len(s.runs), len(s.grants()), n)
	for _, text := range s.outcomes() {
		t.Log(text)
	}
}

// outcomes returns how runs ended.
func (s *slotRuns) outcomes() (out []string) {
	for text, n := range s.errors {
		out = append(out, fmt.Sprintf("%5d× %s", n, text))
	}
	slices.Sort(out)
	return out
}

// active is a fault that is healed at a time.
type active struct {
	until time.Time
	hubs  bool
	heal  func()
}

// history loses one host that has a slot, while random faults happen. Afterwards all hosts must work.
func (s *slotRuns) history(r *rand.Rand, only *regexp.Regexp, faulty time.Duration) {
	lost := s.lose()
	s.faults(r, only, lost, faulty)
	healed := time.Now()
	s.awaitFree(lost, healed)
	s.note("%s: the slot of %s is free after %s", s.fault, lost.name, time.Since(healed).Round(time.Second))
	lost.start()
	s.await("each host works", func(context.Context) error {
		for _, a := range s.agents {
			if s.last(a).Before(healed) {
				return fmt.Errorf("%s does not", a.name)
			}
		}
		return nil
	})
	s.judgeSlots()
}

// faults injects random faults for some time, and heals all of them.
func (s *slotRuns) faults(r *rand.Rand, only *regexp.Regexp, lost *agent, faulty time.Duration) {
	var now []active
	for end := time.Now().Add(faulty); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		now = slices.DeleteFunc(now, func(f active) bool {
			over := time.Now().After(f.until)
			if over {
				f.heal()
			}
			return over
		})
		hubs := slices.ContainsFunc(now, func(f active) bool { return f.hubs })
		if len(now) < 2 && r.IntN(4) == 0 {
			now = append(now, s.inject(r, only, !hubs && r.IntN(2) == 0, lost))
		}
	}
	for _, f := range now {
		f.heal()
	}
	s.fault = "the end of faults"
}

func (s *slotRuns) note(format string, args ...any) { s.t.Logf(format, args...) }

// inject injects a fault into hubs or into hosts. The lost host remains lost.
func (s *slotRuns) inject(r *rand.Rand, only *regexp.Regexp, hubs bool, lost *agent) active {
	f := active{until: time.Now().Add(time.Duration(2000+r.IntN(12_000)) * time.Millisecond), hubs: hubs}
	if hubs {
		kind := faults[r.IntN(len(faults))]
		for !ofSlots.MatchString(kind.name) || !only.MatchString(kind.name) || !s.jumps && kind.name[:5] == "clock" {
			kind = faults[r.IntN(len(faults))]
		}
		s.fault = kind.name
		f.heal = kind.inject(s.run, r)
		s.note("%s for %s", kind.name, time.Until(f.until).Round(time.Second))
		return f
	}
	a := s.agents[r.IntN(len(s.agents))]
	if w := s.works(); w != nil && r.IntN(3) > 0 {
		a = w
	}
	f.heal = func() {}
	if a == lost {
		return f
	}
	what := []string{"run killed", "agent killed", "agent stopped", "run and agent killed", "host isolated"}[r.IntN(5)]
	s.note("%s: %s for %s", what, a.name, time.Until(f.until).Round(time.Second))
	switch what {
	case "run killed":
		s.kill(a)
	case "agent killed":
		f.heal = a.killed()
	case "agent stopped":
		a.pause()
		f.heal = a.resume
	case "run and agent killed":
		f.heal = a.killed()
		s.kill(a)
	case "host isolated":
		s.rule(a.node, "ip daddr 10.99.0.0/24 drop")
		f.heal = func() { s.open(a.node) }
	}
	return f
}

func (a *agent) killed() func() {
	a.kill()
	return a.start
}

// lose kills the agent and the run of a host that has a slot. The host does not return before start is called.
func (s *slotRuns) lose() (a *agent) {
	s.await("a host works", func(context.Context) error {
		if a = s.works(); a == nil {
			return fmt.Errorf("no host works")
		}
		a.kill()
		s.kill(a)
		return nil
	})
	s.note("%s is lost", a.name)
	return a
}

// awaitFree waits until the slot of a lost host is free. Runs of this host end without a slot meanwhile.
func (s *slotRuns) awaitFree(lost *agent, since time.Time) {
	for end := since.Add(freeWithin); ; time.Sleep(time.Second) {
		ctx, done := context.WithTimeout(s.t.Context(), 10*time.Second)
		holds, err := s.holds(ctx, lost)
		done()
		if err == nil && !holds {
			return
		}
		if time.Now().After(end) {
			s.fail("the slot of %s is not free within %s: %v", lost.name, freeWithin, err)
		}
	}
}
