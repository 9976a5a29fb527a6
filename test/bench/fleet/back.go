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
