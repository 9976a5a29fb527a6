package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// contact is the result after all agents have connected.
type contact struct {
	ready   time.Duration // until the hub answered requests of users
	last    time.Duration // until the last agent was connected
	busiest int           // number of connections in the busiest second
	failed  int           // failed attempts
	refused int           // of these, attempts that the hub ended
	cpu     time.Duration // CPU time of the hub until its views showed all agents
	memory  int64         // largest resident memory of the hub until then
}

// rebuilt is the result after the hub lost its data. Times are measured from its start.
type rebuilt struct {
	ready time.Duration // until the hub answered requests of users
	last  time.Duration // until the last agent was in sync with a commit that was made meanwhile
	known time.Duration // until the views of the hub contained this for all agents
	cpu   time.Duration // CPU time of the hub until then
}

// restart kills the hub and starts it again.
func (b *bench) restart(ctx context.Context) (err error) {
	b.out.again, err = b.startAgain(ctx)
	b.say("all reconnected: %+v", b.out.again)
	return err
}

// besiege is restart while other addresses attack the hub.
func (b *bench) besiege(ctx context.Context) (err error) {
	if b.attackers == 0 {
		return nil
	}
	attack, end := context.WithCancel(ctx)
	wait := besiege(attack, b.attackers, []string{b.hub.api, b.hub.bus})
	b.out.besieged, err = b.startAgain(ctx)
	end()
	b.say("all reconnected during an attack with %d connections: %+v", wait(), b.out.besieged)
	return err
}

func (b *bench) startAgain(ctx context.Context) (c contact, err error) {
	if err := b.kill(ctx); err != nil {
		return c, err
	}
	if err := b.swarm.begin(ctx); err != nil {
		return c, err
	}
	began := time.Now()
	if err := b.hub.start(ctx); err != nil {
		return c, err
	}
	c.ready = time.Since(began)
	return c, b.contact(ctx, &c)
}

// contact waits until all agents are connected, and the views of the hub show it.
func (b *bench) contact(ctx context.Context, c *contact) error {
	n, err := b.swarm.await(ctx, "all agents to connect", func(c Counts) bool { return c.Up == b.n })
	if err != nil {
		return err
	}
	m, err := b.swarm.moments(ctx)
	if err != nil {
		return err
	}
	c.last, c.busiest, c.failed, c.refused = m.Up[len(m.Up)-1], busiest(m.Up), n.Tries, n.Refused
	if err := b.known(ctx); err != nil {
		return err
	}
	if c.cpu, err = b.hub.cpu(); err != nil {
		return err
	}
	c.memory, err = b.hub.peak()
	return err
}

// kill kills the hub, and waits until all agents have noticed.
func (b *bench) kill(ctx context.Context) error {
	b.hub.kill()
	_, err := b.swarm.await(ctx, "agents to notice", func(c Counts) bool { return c.Up == 0 })
	return err
}

// save creates the backup that restore uses later.
func (b *bench) save(context.Context) error { return b.hub.backup(b.backup()) }

func (b *bench) backup() string { return filepath.Join(b.base, "backup") }

// lose kills the hub and deletes all of its data except its identity: the store, the assignments, the
// log, the mirror, the modules and the views.
func (b *bench) lose(ctx context.Context) (err error) {
	b.out.lost, err = b.rebuild(ctx, "store deleted", func() error {
		entries, err := os.ReadDir(b.hub.dir())
		for _, e := range entries {
			if !slices.Contains([]string{"hub.json", "keys", "authority", "hook-secret", "audit.log"}, e.Name()) {
				err = errors.Join(err, os.RemoveAll(filepath.Join(b.hub.dir(), e.Name())))
			}
		}
		return err
	})
	return err
}

// restore kills the hub, deletes its directory and restores the backup. All commits are newer than the
// backup, and the store is lost.
func (b *bench) restore(ctx context.Context) (err error) {
	b.out.restored, err = b.rebuild(ctx, "restored from a backup", func() error {
		if err := os.RemoveAll(b.hub.dir()); err != nil {
			return err
		}
		return b.hub.restore(b.backup())
	})
	return err
}

// rebuild changes the directory of a killed hub. It then waits until all agents are in sync with a
// commit that was made meanwhile, and the hub reports this.
func (b *bench) rebuild(ctx context.Context, what string, do func() error) (r rebuilt, err error) {
	if err := b.kill(ctx); err != nil {
		return r, err
	}
	name, err := b.site.commit(what)
	if err := errors.Join(err, do()); err != nil {
		return r, err
	}
	if err := b.swarm.want(ctx, name, b.site.changes, b.modules); err != nil {
		return r, err
	}
	began := time.Now()
	if err := b.hub.start(ctx); err != nil {
		return r, err
	}
	r.ready = time.Since(began)
	times, err := b.swarm.converged(ctx)
	if err != nil {
		return r, err
	}
	r.last = times[len(times)-1]
	if err := b.known(ctx); err != nil {
		return r, err
	}
	r.known = time.Since(began)
	r.cpu, err = b.hub.cpu()
	b.say("%s: the hub answers after %s; half of the agents are in sync after %s, all after %s; the hub has their reports after %s, with %s of CPU time", what, r.ready, quantile(
		times, 0.5), r.last, r.known, r.cpu)
	return r, err
}

// once returns an error if an agent received two assignments with the same number.
func (b *bench) once(ctx context.Context) error {
	m, err := b.swarm.moments(ctx)
	if err == nil && len(m.Twice) > 0 {
		err = fmt.Errorf("%d numbers were given twice: %s", len(m.Twice), strings.Join(m.Twice[:min(5, len(m.Twice))], ", "))
	}
	return err
}

// weigh reads the disk usage of the idle hub, after temporary files are removed.
func (b *bench) weigh(context.Context) (err error) {
	b.out.disk, err = diskOf(b.hub.dir())
	b.say("disk %v", b.out.disk)
	return err
}

// addresses returns the pages that a user has open. They have different targets.
func (b *bench) addresses(user, rollout int) []string {
	target := func(i int) string { return fmt.Sprintf("/targets/web%05d", (user*pagesPerUser+i)%b.n) }
	return []string{"/", "/?by=env", "/rollouts", fmt.Sprintf("/rollouts/r%d", rollout), target(0), target(1), "/inbox",
		"/modules", "/events", "/history"}
}

// watch opens a number of pages, and waits until each has its content. The pages include the next rollout.
func (b *bench) watch(ctx context.Context, count int) (*viewers, error) {
	all, err := client.Get(ctx, b.hub.ask, route.Rollouts())
	if err != nil {
		return nil, err
	}
	next := 1
	if len(all.Rollouts) > 0 {
		newest, _ := strconv.Atoi(strings.TrimPrefix(all.Rollouts[0].ID, "r"))
		next = newest + 1
	}
	streaming, stop := context.WithCancel(context.WithoutCancel(ctx))
	v := &viewers{close: stop}
	for i := 0; i < count; i += pagesPerUser {
		secret, err := b.session(ctx, fmt.Sprintf("user%d", i/pagesPerUser))
		if err != nil {
			v.end()
			return nil, err
		}
		for _, address := range b.addresses(i/pagesPerUser, next)[:min(pagesPerUser, count-i)] {
			v.streams.Go(func() { v.follow(streaming, b.hub.url, address, secret) })
		}
	}
	err = await(ctx, "the pages", func() bool { return v.open.Load()+v.ended.Load() >= int64(count) })
	return v, err
}

// session creates a user with the right to read, and returns the secret of a session of this user.
func (b *bench) session(ctx context.Context, user string) (string, error) {
	_, err := client.Post(ctx, b.hub.ask, route.SetUser(), document.UserRequest{Name: user, Roles: []string{"read"}})
	if err != nil {
		return "", err
	}
	login, err := client.Call(ctx, b.hub.ask, route.CreateLogin(), route.UserName{User: user}, document.LoginRequest{})
	return login.Secret, err
}

// watched is the result for commits in waves while pages are open.
type watched struct {
	pages    int
	versions float64       // that the hub sent for each page, per commit
	every    time.Duration // mean time between two looks at a page
	commits  []commit      // in waves, like those without pages
	alone    float64       // CPU of the hub with open pages, without work, as a fraction of one CPU
}

// rollOutWatched measures commits in waves again while pages are open.
func (b *bench) rollOutWatched(ctx context.Context) error {
	if b.pages == 0 {
		return nil
	}
	out := watched{pages: b.pages}
	for i := range b.rounds {
		v, err := b.watch(ctx, b.pages)
		if err != nil {
			return err
		}
		if i == 0 {
			out.alone, err = b.load(ctx, pagesAlone)
		}
		c := commit{}
		if versions, looks, began := v.versions.Load(), v.looks.Load(), time.Now(); err == nil {
			c, err = b.roll(ctx, waves, fmt.Sprintf("watched %d", i), 1)
			out.versions += float64(v.versions.Load()-versions) / float64(b.pages*b.rounds)
			out.every = time.Since(began) * time.Duration(b.pages) / time.Duration(max(1, v.looks.Load()-looks))
		}
		ended := v.ended.Load()
		if v.end(); err == nil && ended > 0 {
			err = fmt.Errorf("the hub ended %d of %d pages", ended, b.pages)
		}
		if err != nil {
			return err
		}
		out.commits = append(out.commits, c)
	}
	b.out.watched = out
	b.say("with %d pages: %s of CPU time for a commit in waves in %s, without: %s in %s; %.1f versions of a page, "+
		"read every %s; %.1f %% of a CPU without work", b.pages, middle(out.commits, cpuOf),
		middle(out.commits, knownOf), middle(b.out.waves, cpuOf),
		middle(b.out.waves, knownOf), out.versions, out.every, 100*out.alone)
	return nil
}

// pagesAlone is the time for which the load of open pages without work is measured.
const pagesAlone = 20 * time.Second

// load returns the CPU time of the hub as a fraction of one CPU.
func (b *bench) load(ctx context.Context, during time.Duration) (float64, error) {
	before, err := b.hub.cpu()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := pause(ctx, min(during, b.rest)); err != nil {
		return 0, err
	}
	after, err := b.hub.cpu()
	return float64(after-before) / float64(time.Since(began)), err
}

func knownOf(c commit) time.Duration { return c.known }
