package bus

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// world is a store with one key, and processes that are slow, lose answers, pause and restart, each
// with a slightly wrong clock.
type world struct {
	now   time.Duration // the true time, which the nodes do not see
	claim claim
	rev   uint64
	nodes []*node
}

type node struct {
	name  string
	e     election
	skew  time.Duration // of its clock
	drift float64       // its relative speed
	fence uint64        // with which it leads, 0 for none
	due   []due         // messages that are on their way to it
}

type due struct {
	at time.Duration
	do func()
}

func (w *world) local(n *node) time.Time {
	return time.Unix(0, 0).Add(n.skew + time.Duration(float64(w.now)*n.drift))
}

func (w *world) later(t *rapid.T, n *node, do func()) {
	delay := time.Duration(rapid.IntRange(0, 3000).Draw(t, "delay")) * time.Millisecond
	at := w.now + delay
	if len(n.due) > 0 {
		at = max(at, n.due[len(n.due)-1].at) // in order, as on one connection
	}
	n.due = append(n.due, due{at, do})
}

// step executes the due messages of one node.
func (w *world) step(t *rapid.T, n *node) {
	for len(n.due) > 0 && n.due[0].at <= w.now {
		n.due[0].do()
		n.due = n.due[1:]
	}
	do, next := n.e.tick(w.local(n))
	if n.e.held && next.After(n.e.until) {
		t.Fatalf("it holds until %s, and looks again at %s", n.e.until, next)
	}
	if do != nil {
		w.write(t, n, *do)
	}
	n.fence = 0
	if n.e.held {
		n.fence = n.e.seen.Fence
	}
}

func (w *world) write(t *rapid.T, n *node, do write) {
	switch rapid.IntRange(0, 9).Draw(t, "fate") {
	case 0:
		w.later(t, n, func() { n.e.wrote(0, errors.New("it was lost on the way"), w.local(n)) })
		return
	case 1: // the write succeeds, and its answer is lost
		w.make(t, do)
		w.later(t, n, func() { n.e.wrote(0, errors.New("the answer was lost"), w.local(n)) })
		return
	}
	rev, err := w.make(t, do)
	w.later(t, n, func() { n.e.wrote(rev, err, w.local(n)) })
}

func (w *world) make(t *rapid.T, do write) (uint64, error) {
	if do.Rev != w.rev {
		return 0, errors.New("another change was faster")
	}
	if do.Claim.Fence < w.claim.Fence {
		t.Fatalf("the number fell from %d to %d", w.claim.Fence, do.Claim.Fence)
	}
	w.rev++
	w.claim = do.Claim
	for _, n := range w.nodes {
		c, rev := w.claim, w.rev
		w.later(t, n, func() { n.e.saw(c, rev, false, w.local(n)) })
	}
	return w.rev, nil
}

func (w *world) begin(t *rapid.T, i int) *node {
	n := &node{
		name: fmt.Sprintf("n%d.%d", i, w.now), skew: time.Duration(rapid.IntRange(-1e6, 1e6).Draw(t, "skew")) * time.Second,
		drift: 1 + float64(rapid.IntRange(-5, 5).Draw(t, "drift"))/100,
	}
	n.e = election{self: n.name, good: 10 * time.Second}
	c, rev := w.claim, w.rev
	w.later(t, n, func() { n.e.saw(c, rev, rev == 0, w.local(n)) })
	return n
}

// TestElection: two processes never hold the lease at once, and each holder has a higher fence than
// the holder before. Without faults, one process gets the lease.
func TestElection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &world{}
		for i := range 3 {
			w.nodes = append(w.nodes, w.begin(t, i))
		}
		var top uint64
		leader := ""
		check := func() {
			var leads []string
			for _, n := range w.nodes {
				if n.fence == 0 {
					continue
				}
				leads = append(leads, n.name)
				if n.fence < top || n.fence == top && n.name != leader {
					t.Fatalf("%s leads with %d, and %s did with %d", n.name, n.fence, leader, top)
				}
				top, leader = n.fence, n.name
			}
			if len(leads) > 1 {
				t.Fatalf("at %s %v lead", w.now, leads)
			}
		}
		run := func(d time.Duration, faults bool) {
			for end := w.now + d; w.now < end; w.now += 250 * time.Millisecond {
				for i, n := range w.nodes {
					if faults && rapid.IntRange(0, 300).Draw(t, "fault") == 0 {
						w.nodes[i] = w.begin(t, i) // its process died, and another one started
						continue
					}
					w.step(t, n)
				}
				check()
			}
		}
		run(time.Duration(rapid.IntRange(10, 120).Draw(t, "seconds"))*time.Second, true)
		for range 8 {
			run(20*time.Second, false)
			for _, n := range w.nodes {
				if n.fence != 0 {
					return
				}
			}
		}
		t.Fatalf("nobody leads; the store has %+v", w.claim)
	})
}

// TestElectionStops: a process that was paused no longer believes that it is the holder.
func TestElectionStops(t *testing.T) {
	e := election{self: "a", good: 10 * time.Second}
	now := time.Unix(0, 0)
	e.saw(claim{}, 0, true, now)
	do, _ := e.tick(now)
	if do == nil || do.Rev != 0 || do.Claim != (claim{Holder: "a", Fence: 1, Beat: 1}) {
		t.Fatalf("it wants %+v", do)
	}
	e.wrote(1, nil, now.Add(time.Second))
	if _, next := e.tick(now.Add(time.Second)); !e.held || next != now.Add(10*time.Second/3).Truncate(time.Nanosecond) &&
		next.Sub(now) > 4*time.Second {
		t.Fatalf("held %v, next %s", e.held, next.Sub(now))
	}
	if do, _ = e.tick(now.Add(11 * time.Second)); e.held || do == nil || do.Claim.Fence != 2 {
		t.Errorf("after it was stopped it holds: %v, and wants %+v", e.held, do)
	}
}
