package rollouts

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// hubOf returns the log of a hub over a store. The mirror has what the store contains now.
func hubOf(t *testing.T, store *bustest.Store) *Log {
	t.Helper()
	l := NewLog(records.NewMirror[records.StoredRollouts](store, "", records.ParseRollouts))
	l.mirror.Format = records.FormatRollouts
	fill(t, l, store)
	return l
}

// fill reads the present content of the store into the mirror of a hub.
func fill(t *testing.T, l *Log, store *bustest.Store) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	if err := store.Watch(ctx, l.mirror.Take, stop); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

// begun stores the begin of a rollout.
func begun(t *testing.T, l *Log, id string, contents map[rollout.Change]fleet.Assigned) {
	t.Helper()
	if err := l.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.end()
	e := rollout.Event{Rollout: id, At: 1, Kind: rollout.Created, Created: &rollout.Plan{Lane: "main careful",
		Changes: []rollout.Change{{Part: "top", Digest: "d" + id}}, Strategy: rollout.Careful(),
		Waves: []rollout.Wave{{Name: "first", Members: []rollout.ID{"t1"}}}}}
	l.state.Fold(e)
	if err := l.store(t.Context(), []rollout.Event{e}, contents); err != nil {
		t.Fatal(err)
	}
}

// phases returns the phases of all rollouts, the newest first.
func phases(l *Log) string {
	var out []string
	l.each(func(r *rollout.Rollout, _ bool) { out = append(out, r.ID+" "+string(r.Phase)) })
	return strings.Join(out, ", ")
}

// A command through a hub that does not know the newest entries is decided again with them.
func TestOrderOfTwoHubs(t *testing.T) {
	store := bustest.NewStore()
	a := hubOf(t, store)
	begun(t, a, "r1", nil)
	b := hubOf(t, store)
	pause := rollout.Command{Action: rollout.ToPause, Rollout: "r1", By: "jane", Why: "lunch"}
	if _, err := a.Order(t.Context(), pause, 5); err != nil {
		t.Fatal(err)
	}
	var refused *rollout.CommandError
	if _, err := b.Order(t.Context(), pause, 6); !errors.As(err, &refused) {
		t.Errorf("the second pause: %v", err)
	}
	if _, err := b.Order(t.Context(), rollout.Command{Action: rollout.ToResume, Rollout: "r1", By: "joe"}, 7); err != nil {
		t.Fatal(err)
	}
	fill(t, a, store)
	if got := phases(a); got != "r1 active" || got != phases(b) {
		t.Errorf("hub a: %s; hub b: %s", got, phases(b))
	}
}

// What could not be stored has no effect.
func TestStoreThatFails(t *testing.T) {
	store := bustest.NewStore()
	l := hubOf(t, store)
	begun(t, l, "r1", nil)
	store.Break(fleet.ErrNoAnswer)
	_, err := l.Order(t.Context(), rollout.Command{Action: rollout.ToAbort, Rollout: "r1"}, 5)
	if !errors.Is(err, fleet.ErrNoAnswer) {
		t.Fatalf("%v", err)
	}
	store.Break(nil)
	if got := phases(l); got != "r1 active" {
		t.Errorf("after an abort that was not stored: %s", got)
	}
	if got := counted(t, l); got != 1 {
		t.Errorf("the log counts %d events instead of 1", got)
	}
	if _, err := l.Order(t.Context(), rollout.Command{Action: rollout.ToPause, Rollout: "r1"}, 6); err != nil {
		t.Errorf("a rollout that was not aborted cannot be paused: %v", err)
	}
}

// A command waits for another decision, but not for long. It can be repeated.
func TestOrderDuringADecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := hubOf(t, bustest.NewStore())
		begun(t, l, "r1", nil)
		turn, err := l.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		pause, start := rollout.Command{Action: rollout.ToPause, Rollout: "r1"}, time.Now()
		_, err = l.Order(t.Context(), pause, 5)
		if !errors.Is(err, fleet.ErrNoAnswer) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		time.AfterFunc(2*time.Second, turn.End)
		if _, err := l.Order(t.Context(), pause, 5); err != nil || phases(l) != "r1 paused" {
			t.Errorf("%v, %s", err, phases(l))
		}
	})
}

// counted returns the number of events in the log of a hub.
func counted(t *testing.T, l *Log) int {
	t.Helper()
	if err := l.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer l.end()
	return l.events
}

// An entry of a newer format stops a hub with an error: it must not decide without it.
func TestUnreadableEntry(t *testing.T) {
	store := bustest.NewStore()
	l := hubOf(t, store)
	begun(t, l, "r1", nil)
	if _, err := store.Update(t.Context(), entryKey(2), []byte(`{"format":"fettle.rollouts/9"}`), 0); err != nil {
		t.Fatal(err)
	}
	fill(t, l, store)
	_, err := l.Order(t.Context(), rollout.Command{Action: rollout.ToAbort, Rollout: "r1"}, 5)
	if err == nil || !strings.Contains(err.Error(), "this version of fettle cannot read") {
		t.Errorf("%v", err)
	}
}

// fillLog stores as many further entries as a snapshot needs. Of the rollouts in it, the first was aborted.
func fillLog(t *testing.T, l *Log) {
	t.Helper()
	for i := range compactAfter/2 - 1 {
		if err := l.Compact(t.Context()); err != nil || l.snapshot > 0 {
			t.Fatalf("a short log gets a snapshot, or %v", err)
		}
		id := fmt.Sprintf("r%d", i+2)
		begun(t, l, id, nil)
		if err := l.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		e := rollout.Event{Rollout: id, At: 2, Kind: rollout.Ended, Phase: rollout.Completed}
		if i == 0 {
			e.Phase = rollout.Aborted
		}
		l.state.Fold(e)
		if err := l.store(t.Context(), []rollout.Event{e}, nil); err != nil {
			t.Fatal(err)
		}
		l.end()
	}
}

// A snapshot replaces a long log. Hubs that know the old entries, that know only some of them, and that
// start later have the same state.
func TestCompact(t *testing.T) {
	store := bustest.NewStore()
	l := hubOf(t, store)
	begun(t, l, "r1", map[rollout.Change]fleet.Assigned{{Digest: "old"}: {Module: "modules/old"}})
	slow := hubOf(t, store)
	phases(slow)
	if _, err := l.Order(t.Context(), rollout.Command{Action: rollout.ToAbort, Rollout: "r1"}, 5); err != nil {
		t.Fatal(err)
	}
	fillLog(t, l)
	want := phases(l)
	behind := hubOf(t, store)
	if _, err := l.Order(t.Context(), rollout.Command{Action: rollout.ToRelease, Rollout: "r1"}, 6); err != nil {
		t.Fatal(err)
	}
	if err := behind.Compact(t.Context()); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("a hub that does not know the newest entry: %v", err)
	}
	store.Break(fleet.ErrNoAnswer)
	if err := l.Compact(t.Context()); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("a snapshot that cannot be stored: %v", err)
	}
	store.Break(nil)
	if err := l.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	fill(t, slow, store)
	late := hubOf(t, store)
	for i, hub := range []*Log{l, slow, late} {
		name := []string{"the leader", "a slow hub", "a new hub"}[i]
		if got := phases(hub); got != want {
			t.Errorf("%s knows %.80s … instead of %.80s …", name, got, want)
		}
		if !reflect.DeepEqual(hub.shown.state, l.shown.state) || len(hub.shown.contents) != 0 {
			t.Errorf("%s has another state, or old content: %v", name, hub.shown.contents)
		}
	}
	read := l.read
	if err := l.Compact(t.Context()); err != nil || l.read != read {
		t.Errorf("a log with one entry gets another snapshot, or %v", err)
	}
	if n := len(late.mirror.Values()); n != 1 {
		t.Errorf("the store has %d entries after the snapshot", n)
	}
	if _, err := late.Order(t.Context(), rollout.Command{Action: rollout.ToRelease, Rollout: "r2"}, 9); err != nil {
		t.Error(err)
	}
}

// A command that waits for the store delays neither readers nor other commands for longer than their time.
func TestStoreThatDoesNotAnswer(t *testing.T) {
	l := hubOf(t, bustest.NewStore())
	begun(t, l, "r1", nil)
	turn, err := l.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer turn.End()
	if got := phases(l); got != "r1 active" {
		t.Errorf("a reader sees %q", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := l.Begin(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("another decision begins: %v", err)
	}
	if err := l.Learn(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the next entry is read during a decision: %v", err)
	}
	if err := l.Compact(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the log gets a snapshot during a decision: %v", err)
	}
	_, err = l.Order(ctx, rollout.Command{Action: rollout.ToPause, Rollout: "r1"}, 5)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A hub that cannot read the next entry returns the error.
func TestLearnWithoutStore(t *testing.T) {
	store := bustest.NewStore()
	l := hubOf(t, store)
	store.Break(fleet.ErrNoAnswer)
	if err := l.Learn(t.Context()); !errors.Is(err, fleet.ErrNoAnswer) {
		t.Errorf("%v", err)
	}
}

// A log of few entries with very many events gets a snapshot.
func TestCompactManyEvents(t *testing.T) {
	store := bustest.NewStore()
	l := hubOf(t, store)
	begun(t, l, "r1", nil)
	l.events = compactEvents
	if err := l.Compact(t.Context()); err != nil || l.snapshot > 0 || phases(l) != "r1 active" {
		t.Errorf("a log with an open rollout gets a snapshot, or %v", err)
	}
	l.events = 1
	if _, err := l.Order(t.Context(), rollout.Command{Action: rollout.ToAbort, Rollout: "r1"}, 5); err != nil {
		t.Fatal(err)
	}
	if here, there := counted(t, l), counted(t, hubOf(t, store)); here < 2 || here != there {
		t.Errorf("the hub that wrote counts %d events, and another one %d", here, there)
	}
	for _, events := range []int{compactEvents - 1, compactEvents} {
		l.events = events
		if err := l.Compact(t.Context()); err != nil || l.snapshot > 0 != (events == compactEvents) {
			t.Errorf("%d events: a snapshot %d, %v", events, l.snapshot, err)
		}
	}
	if l.events != 0 {
		t.Errorf("%d events after the snapshot", l.events)
	}
}
