package largefleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/assignments"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/leader"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// hub is a running hub: its copy of the storage and its leader.
type hub struct {
	fleet       *simFleet
	name        string
	process     *process
	table       *records.Table
	leader      *leader.Leader
	log         *rollouts.Log
	assignments *assignments.Store
	skew        atomic.Int64 // of its clock, in ns
	end         func()       // as kill -9
	ended       chan struct{}
}

func (h *hub) now() time.Time { return time.Now().Add(time.Duration(h.skew.Load())) }

// open opens the storage for a process.
func (f *simFleet) open(ctx context.Context, p *process) (*records.Table, *assignments.Store, error) {
	t := &records.Table{}
	store := assignments.New(assignments.Config{Records: t, SigningKey: f.signingKey, Keys: f.signingKeys,
		Context: func() context.Context { return ctx }})
	err := t.Open(ctx, func(_ context.Context, name string) (fleet.Store, error) {
		return processStore{Store: f.stores[name], of: p, assignments: name == "assignments"}, nil
	}, records.Options{Away: func() error { return nil }, Assignment: store.Parse, Pack: store.Pack})
	return t, store, err
}

// start starts a hub. It leads when it gets the lease.
func (f *simFleet) start(name string) *hub {
	h := &hub{fleet: f, name: name, process: &process{}, ended: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	h.end = func() {
		once.Do(func() {
			h.process.dead.Store(true)
			cancel()
		})
		<-h.ended
	}
	h.process.died = h.end
	t, store, err := f.open(ctx, h.process)
	if err != nil {
		f.t.Fatal(err)
	}
	h.table, h.log, h.assignments = t, rollouts.NewLog(t.Rollouts), store
	h.leader = leader.New(f.leaderConfig(h, store))
	h.leader.Watch()
	t.Assignments.Changed = h.leader.OnAssignment
	g, ctx := errgroup.WithContext(ctx)
	t.Follow(ctx, g)
	g.Go(func() error {
		if err := t.Filled(ctx); err != nil {
			return err
		}
		return h.leader.Stand(ctx)
	})
	go func() {
		if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errDead) {
			f.t.Errorf("%s ended: %v", name, err)
		}
		close(h.ended)
	}()
	f.hubs = append(f.hubs, h)
	return h
}

func (f *simFleet) leaderConfig(h *hub, store *assignments.Store) leader.Config {
	warn := func(text string) {
		if !h.process.dead.Load() && !h.process.cut.Load() {
			f.note("%s: %s", h.name, text)
		}
	}
	return leader.Config{Hub: h.name, Now: h.now, Warn: warn, Records: h.table,
		Events:      events.Recorder{Hub: h.name, Log: f.log, Now: h.now, Warn: warn},
		Assignments: store, Repository: repository{f}, Content: f.content, Rollouts: h.log,
		Author:         func(context.Context, fleet.Revision) string { return "" },
		Observe:        func(context.Context) (map[fleet.TargetID]document.Target, error) { return f.observe(), nil },
		Observed:       f.observed,
		Ready:          func(context.Context, string) (map[fleet.TargetID]bool, error) { return nil, nil },
		IsAnyConnected: f.isAnyConnected,
		Compile:        func(repo.Tree) ([]query.Target, diag.List) { return f.compiled, nil },
		Strategies:     func(repo.Tree) ([]query.Strategy, diag.List) { return f.strategies, nil },
		Coordination: leader.Coordination{
			Locks:        func(repo.Tree) ([]source.Lock, diag.List) { return nil, nil },
			Waits:        func(repo.Tree) (query.Coordination, diag.List) { return query.Coordination{}, nil },
			Scopes:       func(repo.Tree) (query.Scopes, diag.List) { return query.Scopes{}, nil },
			DeclareLocks: func([]source.Lock) {}, DeclareWaits: func(query.Coordination) {},
			DeclareScopes: func(fleet.Revision, query.Scopes) {}},
		SetMemberships:  func(map[string]view.Memberships) {},
		UnlessDismissed: context.WithCancel, Refollow: func() {}}
}

// startAll starts hubs until so many run.
func (f *simFleet) startAll(n int) {
	f.hubs = slices.DeleteFunc(f.hubs, func(h *hub) bool { return h.process.dead.Load() })
	for len(f.hubs) < n {
		f.started++
		f.start(fmt.Sprintf("hub%d", f.started))
	}
	f.until(2*time.Minute, "a hub leads", func() bool { return f.leads() != nil })
}

// leads returns the hub that leads, or nil.
func (f *simFleet) leads() *hub {
	for _, h := range f.hubs {
		if !h.process.dead.Load() && h.leader.Leads() {
			return h
		}
	}
	return nil
}

// endAll kills all hubs.
func (f *simFleet) endAll() {
	for _, h := range f.hubs {
		h.end()
	}
	f.hubs = nil
}

// repository is the followed repository. Its branch is in the storage, as if a hub had polled it.
type repository struct{ fleet *simFleet }

func (r repository) Repository() records.Repository {
	return records.Repository{Name: "site", Branch: "main"}
}

func (r repository) Follow(ctx context.Context, answered func()) error {
	answered()
	<-ctx.Done()
	return ctx.Err()
}

func (r repository) Pack(_ context.Context, rev fleet.Revision, store *content.Store) ([]fleet.Assigned, error) {
	var out []fleet.Assigned
	tree := r.fleet.tree(rev.Commit)
	for _, part := range append([]string{""}, moduleNames...) {
		b, err := store.Add(func(w io.Writer) error {
			_, err := content.Pack(w, tree, part)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("cannot pack %s: %w", part, err)
		}
		out = append(out, fleet.Assigned{Module: part, Revision: rev, Bundle: b})
	}
	return out, nil
}

var _ leader.Repository = repository{}

// setHead makes a commit the head of the branch.
func (f *simFleet) setHead(commit string) {
	r := records.Ref{Name: "main", Revision: fleet.Revision{Repository: "site", Branch: "main", Commit: commit}}
	key := records.RefKey("main")
	_, rev, _ := f.watch.Refs.Get(key)
	if err := f.watch.Refs.Put(context.Background(), key, r, rev); err != nil {
		f.t.Fatal(err)
	}
}

// show passes the assignment of an agent to a hub, as agents do when they have a newer one than the hub.
func (f *simFleet) show(a *agent) {
	f.mu.Lock()
	envelope, err := a.shows.Envelope()
	f.mu.Unlock()
	if err == nil {
		err = f.leads().assignments.Adopt(context.Background(), a.ID, envelope)
	}
	if err != nil {
		f.t.Error(err)
	}
}
