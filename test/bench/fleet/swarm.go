package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host/mem"
)

// wanted is what a round waits for.
type wanted struct {
	round   int64
	commit  string
	modules int
	begun   time.Time
}

// swarm is all agents.
type swarm struct {
	nodes  []*node
	wanted atomic.Pointer[wanted]
	failed atomic.Int64  // fetches
	slots  chan struct{} // for fetches
	up     atomic.Int64  // connected now
	tries  atomic.Int64  // attempts to connect that failed
	ended  sync.WaitGroup

	mu    sync.Mutex
	times []time.Duration // when nodes were as wanted, from the beginning of the round
	ups   []time.Duration // when they connected, from the beginning of the watch
	watch time.Time
}

// enrolling is how many hosts enrol at the same time, and perToken how many share one.
const (
	enrolling = 16
	perToken  = 100
)

// enrol lets so many hosts in by the hub's HTTPS.
func enrol(ctx context.Context, h *hub, n int) (*swarm, error) {
	s := &swarm{nodes: make([]*node, n), slots: make(chan struct{}, fetching)}
	var all errgroup.Group
	all.SetLimit(enrolling)
	for first := 0; first < n; first += perToken {
		all.Go(func() error {
			uses := min(perToken, n-first)
			token, err := h.token(ctx, uses)
			for i := first; i < first+uses && err == nil; i++ {
				s.nodes[i], err = enrolOne(ctx, s, h.url, token, fmt.Sprintf("web%05d", i))
			}
			return err
		})
	}
	return s, all.Wait()
}

func enrolOne(ctx context.Context, s *swarm, hub string, token pki.Token, name string) (*node, error) {
	n := &node{swarm: s, disk: mem.NewFS(mem.Options{})}
	if err := n.disk.Mkdir(folder, 0o700); err != nil {
		return nil, err
	}
	c := pki.Client{Folder: pki.Folder{FS: n.disk, Dir: member.IdentityDir(folder)}, Now: time.Now}
	if _, err := c.Enrol(ctx, hub, token, name); err != nil {
		return nil, err
	}
	return n, n.open()
}

// start lets all agents work until ctx ends; wait for their end with wait.
func (s *swarm) start(ctx context.Context) error {
	s.begin()
	for _, n := range s.nodes {
		if err := n.start(ctx); err != nil {
			return err
		}
		s.ended.Go(func() {
			_ = n.agent.Run(ctx)
			_ = n.link.Close()
		})
	}
	return nil
}

// begin forgets when who connected.
func (s *swarm) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ups, s.watch = nil, time.Now()
	s.tries.Store(0)
}

// want begins a round.
func (s *swarm) want(commit string, modules int) {
	s.mu.Lock()
	s.times = nil
	s.mu.Unlock()
	w := &wanted{round: 1, commit: commit, modules: modules, begun: time.Now()}
	if old := s.wanted.Load(); old != nil {
		w.round = old.round + 1
	}
	s.wanted.Store(w)
}

func (s *swarm) done(after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.times = append(s.times, after)
}

// converged waits until all are as wanted, and tells when each was, sorted.
func (s *swarm) converged(ctx context.Context) ([]time.Duration, error) {
	all := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.times)
	}
	err := await(ctx, "all agents to be as the commit says", func() bool { return all() == len(s.nodes) })
	if err != nil {
		return nil, fmt.Errorf("%w; %d of %d are", err, all(), len(s.nodes))
	}
	return slices.Sorted(slices.Values(s.times)), nil
}

// connected counts who is, and when they came.
func (s *swarm) connected(up bool) {
	if !up {
		s.up.Add(-1)
		return
	}
	s.up.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ups = append(s.ups, time.Since(s.watch))
}

// warned hears what members say: of interest are attempts that failed.
func (s *swarm) warned(text string) {
	if strings.HasPrefix(text, "cannot connect") {
		s.tries.Add(1)
	}
}

// arrivals are when agents connected, from begin on.
func (s *swarm) arrivals() []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.ups))
}

// fetching is how many agents fetch at the same time: each has one more connection
// meanwhile, and a process may only have so many.
const fetching = 2000

// fetch gets what is missing from the hub.
func (s *swarm) fetch(ctx context.Context, m *member.Member, part fleet.Assignment) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-s.slots }()
	err := m.Fetch(ctx, part)
	if err != nil {
		s.failed.Add(1)
	}
	return err
}
