package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/route"
)

// result contains the measurements for one number of agents.
type result struct {
	n, modules int
	enrol      time.Duration // until all had enrolled
	first      time.Duration // from the first connection until all agents were in sync
	empty      int64         // memory of the hub before the first enrolment, in bytes
	memory     int64         // idle, with all agents
	resident   int64         // including the pages of its binary
	idle       float64       // CPU time while idle, as a fraction of one CPU
	commits    []commit
	waves      []commit         // in waves without waiting times
	watched    watched          // in waves, with open pages
	careful    commit           // with the default strategy
	groups     int              // of agents with a module of their own
	together   commit           // of the modules of all groups, at once
	concurrent commit           // of the same modules, in one rollout for each group
	disk       map[string]int64 // by part, bytes
	met        contact          // the first connections
	again      contact          // after kill -9 and a start
	besieged   contact          // the same during an attack
	lost       rebuilt          // after all data except keys and settings was deleted
	restored   rebuilt          // after its directory was restored from an old backup
	tls, bus   limit
}

// commit is the result for one commit that reached all agents.
type commit struct {
	first        time.Duration // until the first agent was in sync
	middle, last time.Duration // until half of the agents, and all agents, were in sync
	known        time.Duration // until the views of the hub contained this for all agents
	cpu          time.Duration // CPU time of the hub until then
	reports      float64       // reports stored durably until then
}

// bench is one measurement with a number of agents.
type bench struct {
	settings
	n     int
	base  string // the parent of all directories
	hub   *hub
	site  site
	swarm *swarm
	out   result
}

// measure makes all measurements with a number of agents.
func measure(ctx context.Context, s settings, n int) (result, error) {
	base, err := os.MkdirTemp("", "fettle-fleet-")
	if err != nil {
		return result{}, err
	}
	b := &bench{settings: s, n: n, base: base, out: result{n: n, modules: s.modules}}
	switch {
	case s.onlyCommits:
		err = b.run(ctx, b.push, b.rollOut, b.concurrently, b.once)
		return b.out, errors.Join(err, os.RemoveAll(base))
	case s.limits:
		err = b.limits(ctx)
	}
	if err == nil {
		err = b.run(ctx, b.save, b.push, b.rollOut, b.atRest, b.weigh, b.restart, b.besiege, b.lose, b.restore,
			b.concurrently, b.once)
	}
	return b.out, errors.Join(err, os.RemoveAll(base))
}

// settling is the idle time of limits.
const settling = 4 * time.Second

// limits measures the minimum cost of the parts.
func (b *bench) limits(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if b.out.tls, err = measureLimit(ctx, self, b.base, tlsAlone, b.n, settling); err != nil {
		return err
	}
	b.out.bus, err = measureLimit(ctx, self, b.base, busAlone, b.n, settling)
	b.say("TLS alone %.1f KB, the bus alone %.1f KB", b.out.tls.memory/1024, b.out.bus.memory/1024)
	return err
}

func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s %6d  %s\n", time.Now().Format("15:04:05"), b.n, fmt.Sprintf(format, args...))
}

// step is a part of the measurement.
type step func(context.Context) error

// run connects all agents to a hub, and then takes some steps.
func (b *bench) run(ctx context.Context, steps ...step) (err error) {
	if b.site, err = newSite(filepath.Join(b.base, "site"), b.modules); err != nil {
		return err
	}
	first, err := b.site.commit("first")
	if err != nil {
		return err
	}
	if b.hub, err = newHub(b.fettle, b.base, b.site.dir, b.descriptors); err != nil {
		return err
	}
	defer b.hub.close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if b.swarm, err = newSwarm(self, b.n, fetching(b.n, b.files)); err != nil {
		return err
	}
	defer b.swarm.close()
	steps = append([]step{b.enrol, func(ctx context.Context) error { return b.first(ctx, first) }}, steps...)
	for _, step := range steps {
		limited, end := context.WithTimeout(ctx, b.patience)
		err := step(limited)
		end()
		if err != nil {
			return fmt.Errorf("%w\noutput of the hub:\n%s", err, b.hub.said())
		}
	}
	return nil
}

// enrol enrols all agents.
func (b *bench) enrol(ctx context.Context) (err error) {
	if err := b.hub.start(ctx); err != nil {
		return err
	}
	if b.out.empty, err = b.hub.memory(); err != nil {
		return err
	}
	began := time.Now()
	err = b.swarm.enrol(ctx, b.hub)
	b.out.enrol = time.Since(began)
	b.say("enrolled in %s", b.out.enrol)
	return err
}

// first connects all agents, which get their first assignment.
func (b *bench) first(ctx context.Context, commit string) error {
	if err := b.swarm.want(ctx, commit, b.site.changes, b.modules); err != nil {
		return err
	}
	before, err := b.hub.cpu()
	if err != nil {
		return err
	}
	if err := b.swarm.start(ctx); err != nil {
		return err
	}
	times, err := b.swarm.converged(ctx)
	if err != nil {
		return err
	}
	b.out.first = times[len(times)-1]
	if err := b.contact(ctx, &b.out.met); err != nil {
		return err
	}
	b.out.met.cpu -= before
	b.say("all have their first assignment after %s: %+v", b.out.first, b.out.met)
	return nil
}

// known waits until all agents are in sync according to the views of the hub.
func (b *bench) known(ctx context.Context) error {
	var s document.Status
	err := await(ctx, "the views", func() bool {
		began := time.Now()
		var err error
		s, err = client.Get(ctx, b.hub.ask, route.Status())
		if err == nil && s.States[document.Ready] == b.n && s.Connected == b.n {
			return true
		}
		_ = pause(ctx, 9*time.Since(began)) // each request costs the hub CPU time
		return false
	})
	if err != nil {
		return fmt.Errorf("%w; the states are %v", err, s.States)
	}
	return nil
}

// atRest measures the idle hub after work.
func (b *bench) atRest(ctx context.Context) error {
	before, err := b.hub.cpu()
	if err != nil {
		return err
	}
	began := time.Now()
	memory, resident, err := b.look(ctx, began)
	if err != nil {
		return err
	}
	after, err := b.hub.cpu()
	if err != nil {
		return err
	}
	b.out.idle = (after - before).Seconds() / time.Since(began).Seconds()
	b.out.memory, b.out.resident = median(memory), median(resident)
	b.say("at rest: %.1f KB an agent (%.1f to %.1f), %d MB resident, %.1f %% of a processor", b.each(b.out.memory),
		b.each(slices.Min(memory)), b.each(slices.Max(memory)), b.out.resident>>20, 100*b.out.idle)
	return nil
}

// look reads the memory of the hub repeatedly while it is idle, and returns the values of the second
// half of this time. The memory rises slowly, and falls when the hub releases pages.
func (b *bench) look(ctx context.Context, began time.Time) (memory, resident []int64, err error) {
	for len(memory) == 0 || time.Since(began) < b.rest {
		if err := pause(ctx, min(b.rest, time.Second)); err != nil {
			return nil, nil, err
		}
		own, err := b.hub.memory()
		if err != nil {
			return nil, nil, err
		}
		all, err := b.hub.resident()
		if err != nil {
			return nil, nil, err
		}
		if time.Since(began) >= b.rest/2 {
			memory, resident = append(memory, own), append(resident, all)
		}
	}
	return memory, resident, nil
}

// each is the part of an agent in the memory of the hub, in KB.
func (b *bench) each(memory int64) float64 { return float64(memory-b.out.empty) / 1024 / float64(b.n) }

// push pushes commits that change a module of all agents. It waits for the minimum interval between
// polls of a hub, because a hub ignores earlier notifications.
func (b *bench) push(ctx context.Context) error {
	for i := range b.rounds {
		if err := pause(ctx, content.MinEvery); err != nil {
			return err
		}
		c, err := b.pushOne(ctx, fmt.Sprintf("change %d", i), nothing)
		if err != nil {
			return err
		}
		b.say("a commit reached half after %s and all after %s; the hub had the reports after %s, with %s of CPU time and %.0f reports",
			c.middle, c.last, c.known, c.cpu, c.reports)
		b.out.commits = append(b.out.commits, c)
	}
	return nil
}

// nothing is the end of a commit without a rollout.
func nothing(context.Context) error { return nil }

// pushOne pushes a commit, and waits until the views show it for all agents, and for its end.
func (b *bench) pushOne(ctx context.Context, text string, end step) (c commit, err error) {
	cpu, err := b.hub.cpu()
	if err != nil {
		return c, err
	}
	reports, err := b.hub.reports(ctx)
	if err != nil {
		return c, err
	}
	name, err := b.site.commit(text)
	if err != nil {
		return c, err
	}
	if err := b.swarm.want(ctx, name, b.site.changes, b.modules); err != nil {
		return c, err
	}
	began := time.Now()
	if err := b.hub.poke(ctx); err != nil {
		return c, err
	}
	times, err := b.swarm.converged(ctx)
	if err != nil {
		return c, err
	}
	c.first, c.middle, c.last = times[0], quantile(times, 0.5), times[len(times)-1]
	if err := errors.Join(b.known(ctx), end(ctx)); err != nil {
		return c, err
	}
	c.known = time.Since(began)
	now, err := b.hub.cpu()
	if err != nil {
		return c, err
	}
	c.cpu = now - cpu
	c.reports, err = b.hub.reports(ctx)
	c.reports -= reports
	return c, err
}

// rollOut measures commits with other strategies. The commit that selects a strategy is rolled out with the previous
// one, so the last commit measures careful.
func (b *bench) rollOut(ctx context.Context) (err error) {
	if _, err := b.roll(ctx, waves, "use waves", 1); err != nil {
		return err
	}
	for i := range b.rounds {
		c, err := b.roll(ctx, waves, fmt.Sprintf("in waves %d", i), 1)
		if err != nil {
			return err
		}
		b.out.waves = append(b.out.waves, c)
	}
	if err := b.rollOutWatched(ctx); err != nil {
		return err
	}
	if !b.careful {
		_, err = b.roll(ctx, atOnce, "use no waves", 1)
		return err
	}
	if _, err = b.roll(ctx, careful, "use careful", 1); err == nil {
		b.out.careful, err = b.roll(ctx, atOnce, "carefully, use no waves", 1)
	}
	return err
}

// concurrently measures one commit that changes a module of each group of agents: at once, and in a rollout for each
// group. All rollouts are open at the same time. It is the last measurement, because the groups remain.
func (b *bench) concurrently(ctx context.Context) (err error) {
	if b.concurrent == 0 {
		return nil
	}
	b.out.groups, b.modules = min(b.concurrent, b.n), b.modules+1
	change := func(strategy, text string, rollouts int) (c commit) {
		if b.site.form(b.out.groups, strategy); err == nil {
			c, err = b.roll(ctx, atOnce, text, rollouts)
		}
		return c
	}
	change(atOnce, "add groups", 0)
	b.out.together = change(atOnce, "change groups", 0)
	change(waves, "use waves of groups", b.out.groups)
	b.out.concurrent = change(waves, "change groups in waves", b.out.groups)
	return err
}

// roll measures a commit with a strategy, until its rollouts are complete.
func (b *bench) roll(ctx context.Context, strategy, text string, rollouts int) (c commit, err error) {
	if err := pause(ctx, content.MinEvery); err != nil {
		return c, err
	}
	if err := b.site.top(strategy); err != nil {
		return c, err
	}
	c, err = b.pushOne(ctx, text, func(ctx context.Context) error { return b.ended(ctx, text, rollouts) })
	b.say("%s: a commit reached the first agent after %s and all after %s; the hub was done after %s, with %s of CPU time",
		text, c.first, c.last, c.known, c.cpu)
	return c, err
}

// ended waits for the end of the rollouts of a commit, which all agents have followed.
func (b *bench) ended(ctx context.Context, text string, count int) error {
	var all []document.Rollout
	err := await(ctx, "the end of the rollouts", func() bool {
		began := time.Now()
		page, err := client.Get(ctx, b.hub.ask, route.Rollouts())
		all = slices.DeleteFunc(page.Rollouts, func(r document.Rollout) bool {
			return !strings.HasSuffix(r.Cause, ": "+text) || !rollout.Phase(r.Phase).Final()
		})
		if err == nil && len(all) == count {
			return true
		}
		_ = pause(ctx, 9*time.Since(began)) // each request costs the hub CPU time
		return false
	})
	if err != nil {
		return fmt.Errorf("%w; %d of %d have ended", err, len(all), count)
	}
	for _, r := range all {
		if r.Phase != string(rollout.Completed) {
			return fmt.Errorf("the rollout %s is %s: %s", r.ID, r.Phase, r.Why)
		}
	}
	return nil
}
