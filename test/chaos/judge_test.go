package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// all selects all targets.
var all = route.TargetQuery{Select: []string{"*"}, All: true, Limit: 1000}

// compareHosts finds targets that a hub reports as ready at a commit that their host does not have.
func (c *run) compareHosts(h *hub, p document.TargetPage) {
	for _, t := range p.Targets {
		i := slices.IndexFunc(c.agents, func(a *agent) bool { return a.name == t.Name })
		if i < 0 || t.State != document.Ready || t.Behind > 0 {
			continue
		}
		assigned, _, err := c.agents[i].accepted() // never older than when the hub answered
		if err != nil || assigned == nil || assigned.Number().Epoch < t.Accepted.Epoch ||
			assigned.Epoch == t.Accepted.Epoch && assigned.Generation < t.Accepted.Generation {
			c.t.Errorf("%s: %s reports that %s is ready with %v, but it has %+v (%v)", c.fault, h.named, t.Name, t.Accepted,
				assigned, err)
		}
	}
}

// converge waits until a new commit is on all agents, and all hubs report it.
func (c *run) converge() {
	c.unfreezeAll()
	began, n := time.Now(), c.commit()
	c.await("all agents have the newest commit", func(context.Context) error {
		for _, a := range c.agents {
			if got := a.has(); got != n {
				return fmt.Errorf("%s has %d instead of %d", a.name, got, n)
			}
		}
		return nil
	})
	c.longest = max(c.longest, time.Since(began))
	for _, h := range c.hubs {
		c.await(h.named+" reports that all hubs are there",
			func(ctx context.Context) error { return c.whole(ctx, h, hubCount) })
		c.await(h.named+" reports that all targets are ready", func(ctx context.Context) error { return c.allReady(ctx, h) })
	}
}

// await is must for what is expected after the fault.
func (c *run) await(what string, holds func(ctx context.Context) error) {
	c.t.Helper()
	c.must(c.fault+": "+what, holds)
}

func (c *run) allReady(ctx context.Context, h *hub) error {
	s, err := client.Get(ctx, h.client, route.Status())
	if err != nil {
		return err
	}
	if s.Connected != agentCount || s.Targets != agentCount || s.States[document.Ready] != agentCount || s.Behind != 0 ||
		s.Errors != 0 {
		return fmt.Errorf("%+v", s)
	}
	return nil
}

// judge looks at everything after the fleet has converged.
func (c *run) judge() {
	c.await("all hubs agree", c.agree)
	c.await("all hubs have all reports", c.allReports)
	c.judgeJobs()
	c.judgePanics()
}

// agree compares what the hubs report of targets and modules, besides when they heard of them.
func (c *run) agree(ctx context.Context) error {
	var first [2]any
	for i, h := range c.hubs {
		p, err1 := client.GetAt(ctx, h.client, route.Targets(), all)
		m, err2 := client.Get(ctx, h.client, route.Modules())
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		for i := range p.Targets {
			p.Targets[i].Contact = 0
		}
		slices.SortFunc(p.Targets, func(a, b document.Target) int { return strings.Compare(string(a.ID), string(b.ID)) })
		now := [2]any{p, m}
		if i == 0 {
			first = now
		} else if !reflect.DeepEqual(first, now) {
			return fmt.Errorf("%s reports\n%+v\n%s reports\n%+v", c.hubs[0].named, first, h.named, now)
		}
	}
	return nil
}

// ofAgents are the kinds of events that are reports of agents.
var ofAgents = []fleet.EventKind{fleet.Started, fleet.Accepted, fleet.Refused, fleet.Applied, fleet.Failed,
	fleet.RolledBack, fleet.Drifted, fleet.Repaired,
	fleet.Waiting, fleet.Ready, fleet.Ran, fleet.Upgraded, fleet.ReportRequested}

// allReports compares how many reports each agent made with those that each hub has. A hub stores each
// number once, so that the same count means that none is missing.
func (c *run) allReports(ctx context.Context) error {
	for _, a := range c.agents {
		want := a.reported()
		for _, h := range c.hubs {
			got, err := reportsAt(ctx, h, a.name)
			if err != nil {
				return err
			}
			if got != want {
				return fmt.Errorf("%s has %d reports of %s, which made %d", h.named, got, a.name, want)
			}
		}
	}
	return nil
}

func reportsAt(ctx context.Context, h *hub, target string) (n uint64, err error) {
	q := route.EventQuery{Target: target, Limit: 1000}
	for _, k := range ofAgents {
		q.Kinds = append(q.Kinds, string(k))
	}
	q.Since = time.Unix(1, 0)
	for {
		p, err := client.GetAt(ctx, h.client, route.Events(), q)
		if err != nil {
			return 0, err
		}
		n += uint64(len(p.Events))
		if len(p.Events) < q.Limit || p.Cursor == "" {
			return n, nil
		}
		q.After = p.Cursor
	}
}

// judgeJobs compares what the hubs report of jobs with what ran.
func (c *run) judgeJobs() {
	c.await("all jobs have ended", func(ctx context.Context) error {
		for _, j := range c.jobs {
			if j.id == "" || c.over[j.id] {
				continue
			}
			if err := c.jobEnded(ctx, j); err != nil {
				return err
			}
			c.over[j.id] = true
		}
		return nil
	})
	for _, a := range c.agents {
		ran := a.jobs()
		if again := twice(ran); len(again) > 0 {
			c.fail("%s: %s ran more than once: %v", c.fault, a.name, again)
		}
		for _, j := range c.jobs {
			if j.refused && slices.Contains(ran, j.mark) {
				c.fail("%s: %s ran %s, which the hub refused", c.fault, a.name, j.mark)
			}
		}
	}
}

// jobEnded tells whether a job has ended on each agent, and ran there unless the hub says otherwise.
func (c *run) jobEnded(ctx context.Context, j job) error {
	for _, h := range c.hubs {
		r, err := client.GetAt(ctx, h.client, route.Job(), route.JobID{Job: j.id})
		if err != nil {
			return fmt.Errorf("%s: %w", j.mark, err)
		}
		if len(r.Targets) != agentCount {
			return fmt.Errorf("%s has %d targets", j.mark, len(r.Targets))
		}
		for _, t := range r.Targets {
			i := slices.IndexFunc(c.agents, func(a *agent) bool { return a.name == t.Name })
			ran := slices.Contains(c.agents[i].jobs(), j.mark)
			if t.State == document.JobInterrupted || t.State == document.JobDone && ran {
				continue
			}
			return fmt.Errorf("%s at %s on %s is %s (%s), ran: %v; %s", j.mark, h.named, t.Name, t.State, t.Error, ran,
				c.jobEverywhere(ctx, j, c.agents[i]))
		}
	}
	return nil
}

// broken are lines of a log that no process may write.
var broken = regexp.MustCompile(`(?m)^(panic:|fatal error:|goroutine \d+ \[).*`)

func (c *run) judgePanics() {
	for _, n := range c.nodes() {
		text, err := os.ReadFile(n.logFile())
		if at := broken.FindIndex(text); at != nil || err != nil {
			c.fail("%s: %s failed (%v):\n%s", c.fault, n.name, err, text[at[0]:min(len(text), at[0]+4000)])
		}
	}
}

// ends are the ends of processes that nobody asked for, for the summary.
func (c *run) ends() (out []string) {
	seen := map[string]int{}
	for _, n := range c.nodes() {
		n.mu.Lock()
		for _, e := range n.crashes {
			_, why, _ := strings.Cut(e, ": ")
			seen[n.name+" "+why]++
		}
		n.mu.Unlock()
	}
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, fmt.Sprintf("%s ×%d", k, seen[k]))
	}
	return out
}

// together runs something on all hubs.
func (c *run) together(do func(h *hub)) {
	var wait sync.WaitGroup
	for _, h := range c.hubs {
		wait.Go(func() { do(h) })
	}
	wait.Wait()
}
