package elastic_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/elastic"
)

// step is the virtual time between two decisions.
const step = 10 * time.Second

// machine is a host of the simulation.
type machine struct {
	name, domain string
	rank         int
	willing      bool // it volunteers
	broken       bool // it never becomes a hub
	mute         bool // it does not report its load
	gone         bool // destroyed
	downUntil    int64
	farUntil     int64 // a network separates it from the other hosts
	fullUntil    int64 // its disk is full
	skew         int64 // of its clock, in ms
	nearAt       int64 // when it was connected last
	badAt        int64 // when it did not work as a hub last
}

// hub is a machine that is a hub in truth.
type hub struct {
	*machine
	fixed   bool
	voter   bool
	ready   int64 // when it has all data
	agents  int
	heard   int64 // the last heartbeat that the leader got; 0 means none
	emptied int   // agents that moved away
}

// world is a fleet in virtual time. Times are in ms.
type world struct {
	dice     *rand.Rand
	now      int64
	calm     bool // no faults
	machines []*machine
	hubs     map[string]*hub
	leader   string
	without  int // steps without a leader
	agents   int
	policy   elastic.Policy
	stored   elastic.State
	judge    *judge
}

// quick is a policy with short times, so that much happens in a short history.
func quick() elastic.Policy {
	p := elastic.DefaultPolicy()
	p.Mode, p.Max = elastic.Act, 7
	p.Limits.Connections = 1000
	p.ShrinkAfter, p.ShrinkInterval = 6*time.Minute, time.Minute
	p.FailAfter, p.ReadyWithin, p.EmptyWithin = 90*time.Second, time.Minute, 2*time.Minute
	p.RetryAfter = 20 * time.Minute
	return p
}

func newWorld(seed uint64, domains int) *world {
	w := &world{dice: rand.New(rand.NewPCG(seed, 27)), now: 1_700_000_000_000, hubs: map[string]*hub{},
		agents: 300, policy: quick()}
	for i := range 50 {
		w.machines = append(w.machines, &machine{name: fmt.Sprintf("n%02d", i), willing: w.dice.IntN(3) > 0,
			domain: fmt.Sprintf("d%d", w.dice.IntN(domains)), rank: w.dice.IntN(2), broken: w.dice.IntN(15) == 0,
			skew: int64(w.dice.IntN(4000)) - 2000})
	}
	first := w.machines[0]
	first.broken = false
	w.hubs[first.name] = &hub{machine: first, fixed: true, voter: true}
	w.judge = newJudge(w)
	return w
}

func (w *world) up(m *machine) bool   { return !m.gone && w.now >= m.downUntil }
func (w *world) near(m *machine) bool { return w.up(m) && w.now >= m.farUntil }

// good is the truth that the decisions approximate.
func (w *world) good(h *hub) bool {
	return w.near(h.machine) && w.now >= h.ready && w.now >= h.fullUntil
}

// all returns all hubs, sorted by name.
func (w *world) all() []*hub {
	out := make([]*hub, 0, len(w.hubs))
	for _, h := range w.hubs {
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b *hub) int { return cmp.Compare(a.name, b.name) })
	return out
}

func (w *world) voters() []*hub {
	return slices.DeleteFunc(w.all(), func(h *hub) bool { return !h.voter })
}

func (w *world) chance(percent float64) bool { return w.dice.Float64()*100 < percent }

// live lets one step of time pass.
func (w *world) live() {
	w.now += step.Milliseconds()
	w.lead()
	w.serve()
	w.judge.watch()
	if w.leader == "" {
		return
	}
	leader := w.hubs[w.leader]
	clock := w.now + leader.skew
	for _, h := range w.all() {
		if h == leader || w.near(h.machine) && !w.chance(2) {
			h.heard = w.now
		}
	}
	next, d := elastic.Decide(w.stored, w.observe(), clock)
	if d.New && w.policy.Mode == elastic.Act {
		w.judge.accepts(d)
		next = next.Accept(d, w.policy, clock)
		if !w.calm && w.chance(5) { // after the change was stored, before it is performed
			leader.downUntil = w.now + time.Minute.Milliseconds()
			w.stored = next
			return
		}
	}
	w.stored = next
	if w.policy.Mode == elastic.Act {
		w.perform(d.Change)
	}
}

// lead elects a leader if most voters are connected. An election takes two steps.
func (w *world) lead() {
	var can []*hub
	for _, h := range w.voters() {
		if w.near(h.machine) {
			can = append(can, h)
		}
	}
	if 2*len(can) <= len(w.voters()) {
		w.leader, w.without = "", 0
		return
	}
	if slices.ContainsFunc(can, func(h *hub) bool { return h.name == w.leader }) {
		return
	}
	if w.leader = ""; w.without < 2 {
		w.without++
		return
	}
	w.leader, w.without = can[w.dice.IntN(len(can))].name, 0
	for _, h := range w.hubs {
		h.heard = 0
	}
}

// serve spreads the agents over the hubs.
func (w *world) serve() {
	var serving []*hub
	for _, h := range w.all() {
		leaving := h.name == w.stored.Pending.Name && w.stored.Pending.Kind != elastic.Nominate
		if !leaving && w.up(h.machine) && w.now >= h.ready {
			serving = append(serving, h)
		}
	}
	for _, h := range serving {
		h.agents, h.emptied = w.agents/len(serving), 0
	}
}

func (w *world) observe() elastic.Input {
	in := elastic.Input{Leader: w.leader, Policy: w.policy, Nodes: make([]elastic.Node, 0, len(w.machines))}
	for _, h := range w.hubs { // in random order
		o := elastic.Hub{Name: h.name, Domain: h.domain, Voter: h.voter, Fixed: h.fixed, Silence: -1,
			Ready: w.now >= h.ready}
		if h.heard != 0 {
			o.Silence = time.Duration(w.now-h.heard) * time.Millisecond
		}
		if !h.mute {
			o.Load = &fleet.HubLoad{Connections: h.agents, CPU: float64(h.agents) / 3000, DiskFree: 0.5}
			if w.now < h.fullUntil {
				o.Load.DiskFree = 0.01
			}
		}
		in.Hubs = append(in.Hubs, o)
	}
	for _, m := range w.machines {
		if m.willing {
			in.Nodes = append(in.Nodes, elastic.Node{Name: m.name, Domain: m.domain, Rank: m.rank, Present: w.near(m)})
		}
	}
	return in
}

// perform takes one step of a change. Each step can be lost.
func (w *world) perform(c elastic.Change) {
	h, m := w.hubs[c.Name], w.machine(c.Name)
	if !w.calm && w.chance(20) {
		return
	}
	switch c.Kind {
	case elastic.Nominate:
		if h == nil && w.near(m) && !m.broken {
			w.hubs[m.name] = &hub{machine: m, ready: w.now + int64(w.dice.IntN(30_000))}
		}
	case elastic.Vote:
		w.vote(c.Voters)
	case elastic.Empty:
		if h != nil && w.near(m) {
			h.emptied += h.agents/2 + 1
			h.agents = max(0, h.agents/2-1)
		}
	case elastic.Retire, elastic.Withdraw:
		if h != nil {
			w.judge.retires(h)
			delete(w.hubs, c.Name)
		}
	}
}

// vote gives or takes one vote, as the store does. The store needs a majority before and after. Hubs that do not answer
// lose their votes first.
func (w *world) vote(want []string) {
	for _, h := range w.all() {
		if slices.Contains(want, h.name) && !h.voter {
			if w.good(h) && w.majority(h) {
				h.voter = true
			}
			return
		}
	}
	all := w.voters()
	slices.SortStableFunc(all, func(a, b *hub) int {
		switch near := w.near(a.machine); {
		case near == w.near(b.machine):
			return 0
		case near:
			return 1
		}
		return -1
	})
	for _, h := range all {
		if !slices.Contains(want, h.name) && w.majority(h) {
			h.voter = false
			return
		}
	}
}

// majority reports whether most voters are connected after a hub got or lost its vote.
func (w *world) majority(other *hub) bool {
	near, all := 0, 0
	for _, h := range w.hubs {
		if h.voter != (h == other) {
			if all++; w.near(h.machine) {
				near++
			}
		}
	}
	return 2*near > all
}

func (w *world) machine(name string) *machine {
	for _, m := range w.machines {
		if m.name == name {
			return m
		}
	}
	return &machine{}
}
