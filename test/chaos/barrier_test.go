package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// barrierSettings declares a barrier of all hosts, which change at the same time.
const barrierSettings = `barrier "everyone" {
  labels = { role = "web" }
}
policy { rollout = "at-once" }
`

// barrierModule stores when a host arrives at the barrier, and when it continues. Hosts arrive at different times.
func barrierModule(n int) string {
	stores := func(what string) string {
		sleep := map[string]string{"arrived": "sleep $((RANDOM % 15)); "}[what]
		return fmt.Sprintf("[\"/bin/bash\", \"-c\", \"%secho %s %d $EPOCHREALTIME >>/var/log/barrier\"]", sleep, what, n)
	}
	return fmt.Sprintf(`exec "arrive" {
  command = %s
  before  = [wait_for.everyone]
}
wait_for "everyone" {
  barrier = "everyone"
  timeout = "30m"
}
exec "continue" {
  command = %s
  after   = [wait_for.everyone]
}
`, stores("arrived"), stores("continued"))
}

// TestBarrierOfHosts: no host continues before all members have arrived, while agents and hubs are killed or stopped,
// and hosts and hubs are partitioned. All are real processes. The barrier opens if its last missing member is retired.
func TestBarrierOfHosts(t *testing.T) {
	requireLong(t)
	length, seed, only := options(t)
	w := newWorld(t, &world{jumps: true, hosts: agentCount, settings: barrierSettings, module: barrierModule})
	c := &run{world: w, fault: "start", over: map[string]bool{}, frozen: map[string]bool{}}
	s := &slotRuns{run: c}
	s.continued(c.agents, c.head)
	began, n := time.Now(), 0
	for again := true; again; n++ {
		r := rand.New(rand.NewPCG(seed+uint64(n), 3))
		number := c.commit()
		s.faults(r, only, nil, time.Duration(5+r.IntN(20))*time.Second)
		s.continued(c.agents, number)
		c.judgeBarrier(c.agents, number)
		again = time.Since(began) < length
	}
	c.judgePanics()
	t.Logf("%d generations in %s", n, time.Since(began).Round(time.Second))
	s.shrinks()
	c.judgePanics()
}

// times returns when a host arrived for a commit, and when it continued. They are zero before.
func (a *agent) times(commit int) (arrived, continued time.Time) {
	text, _ := os.ReadFile(a.file("var/log/barrier")) // it does not exist before the first
	for line := range strings.Lines(string(text)) {
		var what string
		var n int
		var sec, micro int64
		_, err := fmt.Sscanf(strings.ReplaceAll(line, ",", "."), "%s %d %d.%d\n", &what, &n, &sec, &micro)
		if err != nil || n != commit {
			continue
		}
		at := time.UnixMicro(sec*1_000_000 + micro)
		switch {
		case what == "arrived" && arrived.IsZero():
			arrived = at
		case what == "continued" && continued.IsZero():
			continued = at
		}
	}
	return arrived, continued
}

// continued waits until hosts have continued with a commit.
func (s *slotRuns) continued(hosts []*agent, commit int) {
	s.await(fmt.Sprintf("all hosts continue with commit %d", commit), func(context.Context) error {
		for _, a := range hosts {
			if _, at := a.times(commit); at.IsZero() {
				return fmt.Errorf("%s does not", a.name)
			}
		}
		return nil
	})
}

// judgeBarrier checks that no host continued before all hosts arrived.
func (c *run) judgeBarrier(hosts []*agent, commit int) {
	for _, a := range hosts {
		for _, b := range hosts {
			_, at := a.times(commit)
			if arrived, _ := b.times(commit); at.Before(arrived) {
				c.fail("commit %d: %s continued at %s, before %s arrived at %s", commit, a.name, at, b.name, arrived)
			}
		}
	}
}

// shrinks loses a host. The others wait at the barrier until it is retired.
func (s *slotRuns) shrinks() {
	lost, others := s.agents[len(s.agents)-1], s.agents[:len(s.agents)-1]
	lost.kill()
	s.fault = "a host is lost"
	commit := s.commit()
	s.await("the other hosts arrive", func(ctx context.Context) error {
		p, err := client.Get(ctx, s.anyHub().client, route.Barriers())
		if err != nil {
			return err
		}
		i := slices.IndexFunc(p.Barriers, func(b document.Barrier) bool { return b.Name == "everyone" })
		if i < 0 || p.Barriers[i].Arrived != len(others) || p.Barriers[i].Required != len(s.agents) {
			return fmt.Errorf("%+v", p)
		}
		return nil
	})
	retired := time.Now()
	s.must("retire "+lost.name, func(ctx context.Context) error {
		_, err := client.Call(ctx, s.anyHub().client, route.RetireTarget(), route.TargetName{Target: lost.name},
			document.ReasonRequest{Reason: "it does not return"})
		return err
	})
	s.continued(others, commit)
	for _, a := range others {
		if _, at := a.times(commit); at.Before(retired) {
			s.fail("%s continued at %s, before %s was retired at %s", a.name, at, lost.name, retired)
		}
	}
	s.judgeBarrier(others, commit)
}
