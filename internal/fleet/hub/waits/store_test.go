package waits

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/lang/query"
)

var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// site has hubs over one store, and the targets db0 to db3.
type site struct {
	*testing.T
	store   fleet.Store
	log     *bustest.Log
	now     time.Time
	targets map[fleet.TargetID]document.Target
}

func newSite(t *testing.T) *site {
	s := &site{T: t, store: bustest.NewStore(), log: bustest.NewLog(), now: noon,
		targets: map[fleet.TargetID]document.Target{}}
	for i := range 4 {
		s.set(i, func(d *document.Target) {
			d.ID, d.Name, d.Standing, d.Connected = bustest.ID(i), fmt.Sprint("db", i), fleet.Active, true
		})
	}
	return s
}

// set changes a target.
func (s *site) set(i int, change func(*document.Target)) {
	d := s.targets[bustest.ID(i)]
	change(&d)
	s.targets[bustest.ID(i)] = d
}

// hub returns the barriers and signals of a hub. Its mirrors follow the store until the test ends.
func (s *site) hub() *Waits {
	s.Helper()
	table := &records.Table{}
	table.Barriers = records.NewMirror(s.store, "barrier/", records.ParseBarrier)
	table.Signals = records.NewMirror(s.store, "signal/", records.ParseSignal)
	table.Targets = records.NewMirror[fleet.Target](bustest.NewStore(), "", nil)
	table.Epochs = records.NewMirror[records.Epoch](s.store, "rule/", nil)
	for i := range 4 {
		to := fleet.Target{ID: bustest.ID(i), Name: fmt.Sprint("db", i)}
		if err := table.Targets.Put(s.Context(), string(to.ID), to, 0); err != nil {
			s.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(s.Context())
	done := make(chan struct{}, 3)
	go func() { _ = table.Barriers.Follow(ctx); done <- struct{}{} }()
	go func() { _ = table.Signals.Follow(ctx); done <- struct{}{} }()
	go func() { _ = table.Epochs.Follow(ctx); done <- struct{}{} }()
	s.Cleanup(func() { stop(); <-done; <-done; <-done })
	<-table.Barriers.Filled()
	<-table.Signals.Filled()
	<-table.Epochs.Filled()
	warn := func(text string) { s.Log(text) }
	now := func() time.Time { return s.now }
	w := New(Config{Now: now, Warn: warn, Records: table, MayChange: func() error { return nil },
		Events: events.Recorder{Hub: "hub1", Log: s.log, Now: now, Warn: warn},
		Trusted: func(_ context.Context, id fleet.TargetID) (fleet.Target, error) {
			if t, ok := s.targets[id]; ok && t.Standing == fleet.Active {
				return fleet.Target{ID: id, Name: t.Name}, nil
			}
			return fleet.Target{}, fleet.ErrDenied
		},
		Observe: func(context.Context) (map[fleet.TargetID]document.Target, error) { return s.targets, nil }})
	w.began = noon.Add(-time.Hour)
	w.Uptime = func() time.Duration { return s.now.Sub(noon) }
	return w
}

// declare declares barriers and signals at once.
func (s *site) declare(w *Waits, all query.Coordination) {
	s.Helper()
	w.Declare(all)
	w.observed.all = nil
	if err := w.tidy(s.Context()); err != nil {
		s.Fatal(err)
	}
}

// ask sends a request of a target, and compares the answer.
func (s *site) ask(w *Waits, i int, r fleet.WaitRequest, want string) {
	s.Helper()
	w.observed.all = nil
	body, err := json.Marshal(r)
	if err != nil {
		s.Fatal(err)
	}
	got, err := w.OnWait(s.Context(), bustest.ID(i), body)
	if err != nil {
		got = []byte(err.Error())
	}
	if !strings.Contains(string(got), want) {
		s.Errorf("%d, %s: %s, want %s", i, body, got, want)
	}
}

func arrive(name, run string) fleet.WaitRequest {
	return fleet.WaitRequest{Action: fleet.WaitArrive, Name: name, Run: run}
}

// texts returns the events of the log.
func (s *site) texts() (out string) {
	for _, r := range s.log.Records() {
		e, err := fleet.ParseHubEvent(r)
		if err != nil {
			s.Fatal(err)
		}
		out += e.By + ": " + e.Text + "\n"
	}
	return out
}

var schema = query.Coordination{
	Barriers: []query.Barrier{{Name: "schema", Members: []string{"db0", "db1", "db2"}, Quorum: "all", OfflineAfter: 600}},
	Signals:  []query.Signal{{Name: "start", Senders: []string{"db0"}, Keep: 3600}},
}
