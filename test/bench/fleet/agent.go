package main

import (
	"context"
	"hash/maphash"
	"path"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/fleet/agent/member"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/repo"
)

// node is one simulated target.
type node struct {
	share  *Share
	disk   *mem.FS
	member *member.Member
	agent  *agent.Agent
	link   fleet.Link
	seen   atomic.Int64 // the last round in which it was in sync

	mu  sync.Mutex
	has map[string]bool // bundles by digest; nil before the first assignment
	// numbers has the hash of each assignment that the node received.
	numbers map[number]uint64
	run     int
}

// number identifies an assignment; a fleet uses it only once for a target.
type number struct{ epoch, generation uint64 }

// directory is the directory of an agent on its simulated disk.
const directory = "/agent"

// open creates the agent of an enrolled target.
func (n *node) open() (err error) {
	n.member, err = member.Open(member.Config{Files: n.disk, Dir: directory, Now: time.Now, Warn: n.share.warned})
	return err
}

// start connects the agent and runs it until ctx ends.
func (n *node) start(ctx context.Context) error {
	var err error
	if n.link, err = n.member.Link(ctx); err != nil {
		return err
	}
	n.link.Changes(n.share.connected)
	dir, err := durable.Open(n.disk, directory)
	if err != nil {
		return err
	}
	n.agent, err = agent.New(agent.Config{
		Machine: machine.Config{Target: n.member.ID(), Version: "bench", Boot: "b"}, Dir: dir, Link: n.link, Runner: n,
		Content: n, Watcher: quiet{},
		Verify: n.verify, Certificate: n.member.Certificate, Renew: n.member.Renew, Now: time.Now, Notify: n.told,
	})
	return err
}

// verify opens an assignment, and checks that no other assignment had its number.
func (n *node) verify(envelope []byte) (fleet.Assignment, error) {
	a, err := n.member.Verify(envelope)
	if err != nil {
		return a, err
	}
	text := maphash.Bytes(n.share.seed, envelope) // the same assignment is signed with the same bytes
	n.mu.Lock()
	defer n.mu.Unlock()
	at := number{a.Epoch, a.Generation}
	if was, known := n.numbers[at]; known && was != text {
		n.share.twice(a)
	}
	n.numbers[at] = text
	return a, nil
}

// told checks whether the target is in sync with the commit of this round.
func (n *node) told(s fleet.Status) {
	w := n.share.wanted.Load()
	if w == nil || n.seen.Load() == w.number {
		return
	}
	for _, m := range s.Modules {
		if m.State != fleet.ModuleReady || slices.Contains(w.Changes, path.Base(m.Module)) && m.Commit != w.Commit {
			return
		}
	}
	if len(s.Modules) == w.Modules {
		n.seen.Store(w.number)
		n.share.done(w)
	}
}

// Run implements agent.Enforcer: each run succeeds immediately.
func (n *node) Run(context.Context, machine.Run, func(machine.Event)) machine.Outcome {
	n.run++
	return machine.Outcome{
		Result: machine.Done, Run: n.run, Changes: 1, Checked: true,
		Parts: map[string]machine.Part{}, Facts: map[string]string{"os": "debian 13", "memory": "8 GiB"},
	}
}

// LocalFreeze implements agent.Enforcer.
func (*node) LocalFreeze(context.Context) (machine.LocalFreeze, error) {
	return machine.LocalFreeze{}, nil
}

// Managed implements agent.Enforcer.
func (*node) Managed(context.Context) (agent.Managed, error) { return agent.Managed{}, nil }

// Fetch implements agent.Content. The bundles of the first assignment exist already. Later bundles are
// fetched from the hub like by any agent, and then discarded.
func (n *node) Fetch(ctx context.Context, a fleet.Assignment) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	all := append([]fleet.Assigned{a.Root}, a.Modules...)
	if n.has != nil {
		missing := slices.DeleteFunc(slices.Clone(all), func(m fleet.Assigned) bool { return n.has[m.Bundle.Digest] })
		if len(missing) == 0 {
			return nil
		}
		part := a
		part.Root, part.Modules = missing[0], missing[1:]
		if err := n.share.fetch(ctx, n.member, part); err != nil {
			return err
		}
		if err := n.member.Retain(nil); err != nil {
			return err
		}
	}
	n.has = map[string]bool{}
	for _, m := range all {
		n.has[m.Bundle.Digest] = true
	}
	return nil
}

// Tree implements agent.Content. It is never used.
func (*node) Tree(fleet.Assignment, []string) (repo.Tree, func() error, error) {
	return nil, func() error { return nil }, nil
}

// Retain implements agent.Content.
func (*node) Retain([]string) error { return nil }

// quiet is a host without changes.
type quiet struct{}

// Watch implements agent.Watcher.
func (quiet) Watch(agent.Managed) error { return nil }

// Run implements agent.Watcher.
func (quiet) Run(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}
