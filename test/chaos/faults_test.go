package chaos

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// fault is one kind of faults. inject returns what heals it.
type fault struct {
	name   string
	inject func(c *run, r *rand.Rand) (heal func())
}

// faults are all kinds. Each round has one of them.
var faults = []fault{
	{"hub killed", func(c *run, r *rand.Rand) func() { return killed(c.pick(r)) }},
	{"leader killed", func(c *run, _ *rand.Rand) func() { return killed(c.leader()) }},
	{"hub paused", func(c *run, r *rand.Rand) func() { return paused(c.pick(r)) }},
	{"leader paused", func(c *run, _ *rand.Rand) func() { return paused(c.leader()) }},
	{"hub partitioned from hubs", func(c *run, r *rand.Rand) func() { return c.cutHub(c.pick(r), false) }},
	{"leader partitioned from hubs", func(c *run, _ *rand.Rand) func() { return c.cutHub(c.leader(), false) }},
	{"hub partitioned from all", func(c *run, r *rand.Rand) func() { return c.cutHub(c.pick(r), true) }},
	{"one direction lost", func(c *run, r *rand.Rand) func() { return c.cutOneWay(r) }},
	{"agents partitioned", cutAgents},
	{"lossy links between hubs", func(c *run, r *rand.Rand) func() { return c.lossy(10 + r.IntN(30)) }},
	{"connections reset", resets},
	{"disk of a hub full", func(c *run, r *rand.Rand) func() { return c.filled(c.pick(r)) }},
	{"disk of the leader full", func(c *run, _ *rand.Rand) func() { return c.filled(c.leader()) }},
	{"quorum killed", func(c *run, r *rand.Rand) func() { return c.most(r, killed) }},
	{"quorum paused", func(c *run, r *rand.Rand) func() { return c.most(r, paused) }},
	{"all hubs killed", allKilled},
	{"all hubs restarted", allRestarted},
	{"old snapshot of a hub", oldSnapshot},
	{"hub retired and another joins", func(c *run, r *rand.Rand) func() { return c.replaced(c.pick(r)) }},
	{"leader retired and another joins", func(c *run, _ *rand.Rand) func() { return c.replaced(c.leader()) }},
	{"clock of a hub jumps", func(c *run, r *rand.Rand) func() { return c.jumped(c.pick(r), r) }},
	{"clock of the leader jumps", func(c *run, r *rand.Rand) func() { return c.jumped(c.leader(), r) }},
	{"agents killed", agentsKilled},
	{"repository unreadable", repositoryGone},
}

func (c *run) pick(r *rand.Rand) *hub { return c.hubs[r.IntN(len(c.hubs))] }

// leader is the hub that leads now.
func (c *run) leader() (leads *hub) {
	c.await("a hub leads", func(ctx context.Context) error {
		p, err := client.Get(ctx, c.anyHub().client, route.Hubs())
		for _, m := range p.Hubs {
			for _, h := range c.hubs {
				if m.Leader && h.named == m.Name {
					leads = h
					return nil
				}
			}
		}
		return fmt.Errorf("no hub leads: %+v, %w", p, err)
	})
	return leads
}

func killed(h *hub) func() {
	h.kill()
	return h.start
}

func paused(h *hub) func() {
	h.pause()
	return h.resume
}

// most breaks two hubs of three.
func (c *run) most(r *rand.Rand, each func(*hub) func()) func() {
	var heals []func()
	for _, i := range r.Perm(len(c.hubs))[:2] {
		heals = append(heals, each(c.hubs[i]))
	}
	return together(heals)
}

func together(heals []func()) func() {
	return func() {
		for _, heal := range heals {
			heal()
		}
	}
}

func allKilled(c *run, _ *rand.Rand) func() {
	c.together(func(h *hub) { h.kill() })
	return func() { c.together(func(h *hub) { h.start() }) }
}

func allRestarted(c *run, _ *rand.Rand) func() {
	c.together(func(h *hub) { h.stop() })
	c.together(func(h *hub) { h.start() })
	return func() {}
}

// rule adds a rule for packets of a node, and heal removes all rules.
func (c *run) rule(n *node, rules ...string) {
	text := "table inet chaos {\nchain out {\ntype filter hook output priority 0;\n" + strings.Join(rules,
		"\n") + "\n}\n}\n"
	cmd := n.command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader("table inet chaos {}\ndelete table inet chaos\n" + text)
	c.exec(cmd)
}

func (c *run) open(n *node) {
	cmd := n.command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader("table inet chaos {}\ndelete table inet chaos\n")
	c.exec(cmd)
}

// cutHub drops all packets between a hub and the others, in both directions.
func (c *run) cutHub(h *hub, all bool) func() {
	var cut []*node
	for _, n := range c.nodes() {
		if n != h.node && (all || strings.HasPrefix(n.name, "place")) {
			c.rule(n, "ip daddr "+h.address+" drop")
			cut = append(cut, n)
		}
	}
	rules := []string{}
	for _, n := range cut {
		rules = append(rules, "ip daddr "+n.address+" drop")
	}
	c.rule(h.node, rules...)
	return func() {
		for _, n := range append(cut, h.node) {
			c.open(n)
		}
	}
}

func (c *run) cutOneWay(r *rand.Rand) func() {
	p := r.Perm(len(c.hubs))
	from, to := c.hubs[p[0]], c.hubs[p[1]]
	c.rule(from.node, "ip daddr "+to.address+" drop")
	return func() { c.open(from.node) }
}

func cutAgents(c *run, r *rand.Rand) func() {
	var cut []*node
	for _, i := range r.Perm(len(c.agents))[:1+r.IntN(len(c.agents))] {
		c.rule(c.agents[i].node, "ip daddr 10.99.0.0/24 drop")
		cut = append(cut, c.agents[i].node)
	}
	return func() {
		for _, n := range cut {
			c.open(n)
		}
	}
}

func (c *run) lossy(percent int) func() {
	for _, h := range c.hubs {
		c.rule(h.node, fmt.Sprintf("numgen random mod 100 < %d drop", percent))
	}
	return func() {
		for _, h := range c.hubs {
			c.open(h.node)
		}
	}
}

// resets ends all connections between two hubs again and again: answers that are on their way
// are lost.
func resets(c *run, r *rand.Rand) func() {
	p := r.Perm(len(c.hubs))
	from, to := c.hubs[p[0]], c.hubs[p[1]]
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			_ = from.command("ss", "-K", "dst", to.address).Run() // there may be none
			select {
			case <-stop:
				return
			case <-time.After(700 * time.Millisecond):
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// filled takes all room on the disk of a hub.
func (c *run) filled(h *hub) func() {
	name := filepath.Join(h.disk(), "fill")
	f, err := os.Create(name)
	if err != nil {
		c.t.Fatal(err)
	}
	defer f.Close()
	h.full = true
	_, _ = io.Copy(f, zeroes{})
	return func() {
		if err := os.Remove(name); err != nil {
			c.t.Error(err)
		}
		h.full = false
	}
}

type zeroes struct{}

func (zeroes) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// oldSnapshot puts the directory of a hub back to what it was some rounds ago, as a snapshot of its
// virtual machine does. The others have everything: else a majority would have forgotten.
func oldSnapshot(c *run, r *rand.Rand) func() {
	h := c.pick(r)
	h.stop()
	saved := filepath.Join(h.dir, "saved")
	if was, err := os.ReadFile(saved + ".of"); err != nil || string(was) != h.named {
		c.save(h) // of now: a later round has an old one
	}
	c.run("rm -rf "+h.store(), "cp -a "+saved+" "+h.store())
	return h.start
}

// save stores the directory of a hub that does not run.
func (c *run) save(h *hub) {
	saved := filepath.Join(h.dir, "saved")
	c.run("rm -rf "+saved, "cp -a "+h.store()+" "+saved)
	if err := os.WriteFile(saved+".of", []byte(h.named), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// replaced retires a hub, and lets another one join at its place.
func (c *run) replaced(h *hub) func() {
	was := h.named
	var by *hub
	for _, o := range c.hubs {
		if o != h {
			by = o
		}
	}
	c.must("retire "+was, func(ctx context.Context) error {
		_, err := client.Call(ctx, by.client, route.RetireHub(), route.HubName{Hub: was},
			document.HubRetirement{Reason: "chaos"})
		if p, perr := client.Get(ctx, by.client, route.Hubs()); err != nil && perr == nil && len(p.Hubs) == hubCount-1 {
			return nil // an earlier try succeeded
		}
		return err
	})
	return func() {
		c.must(was+" is out", func(ctx context.Context) error { return c.whole(ctx, by, hubCount-1) })
		h.stop()
		c.run("rm -rf " + h.store())
		c.join(h, by, hubCount-1)
	}
}

// jumped moves the clock of a hub, and back.
func (c *run) jumped(h *hub, r *rand.Rand) func() {
	by := []time.Duration{-time.Hour, -5 * time.Minute, -20 * time.Second, 20 * time.Second, 5 * time.Minute, time.Hour,
		24 * time.Hour}
	c.jump(h, by[r.IntN(len(by))])
	return func() { c.jump(h, 0) }
}

// agentsKilled kills agents while they apply and run jobs.
func agentsKilled(c *run, r *rand.Rand) func() {
	c.createJob(c.anyHub())
	c.commit()
	var dead []*agent
	for _, i := range r.Perm(len(c.agents))[:2+r.IntN(len(c.agents)-2)] {
		time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
		c.agents[i].kill()
		dead = append(dead, c.agents[i])
	}
	return func() {
		for _, a := range dead {
			a.start()
		}
	}
}

func repositoryGone(c *run, _ *rand.Rand) func() {
	c.unreadable = true
	from, to := filepath.Join(c.site(), ".git"), filepath.Join(c.site(), "gone")
	if err := syscall.Rename(from, to); err != nil {
		c.t.Fatal(err)
	}
	return func() {
		c.unreadable = false
		if err := syscall.Rename(to, from); err != nil {
			c.t.Fatal(err)
		}
	}
}
