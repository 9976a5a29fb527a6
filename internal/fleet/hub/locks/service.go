package locks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/coordination"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// Service answers requests of users about locks.
type Service struct{ Of *Locks }

// HandleRoutes registers the handlers of locks.
func (s Service) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.Locks(), s.Locks)
	api.Handle(t, route.ReleaseLock(), s.ReleaseSlot)
}

// Locks returns all locks, sorted by name.
func (s Service) Locks(context.Context) (document.LockPage, error) {
	now, out := s.Of.Now(), []document.Lock{}
	for _, l := range s.Of.Records.Locks.Values() {
		out = append(out, s.describe(l.State, now))
	}
	return document.LockPage{Format: document.LockPageFormat, Locks: out}, nil
}

func (s Service) describe(l coordination.State, now time.Time) document.Lock {
	d := document.Lock{Name: l.Name, Slots: l.Slots, Taken: len(l.Holders), Lease: int64(l.Lease),
		OnExpiry: string(l.OnExpiry), Reboots: l.Reboots, Undeclared: l.Undeclared, Holders: []document.LockHolder{}}
	if opens := s.Of.restored() + l.Lease.Milliseconds(); s.Of.restored() > 0 && now.UnixMilli() < opens {
		d.Opens = time.UnixMilli(opens).UnixNano()
	}
	d.Waiting = []document.LockWaiter{}
	for _, w := range l.Waiting(now.UnixMilli()) {
		t, _, _ := s.Of.Records.Targets.Get(w.Owner)
		d.Waiting = append(d.Waiting, document.LockWaiter{Target: fleet.TargetID(w.Owner), Name: t.Name,
			Since: time.UnixMilli(w.Since).UnixNano(), Asked: time.UnixMilli(w.Asked).UnixNano()})
	}
	for _, h := range l.Holders {
		state := document.SlotHeld
		if h.Overdue(now.UnixMilli()) {
			state = document.SlotOverdue
		}
		d.Holders = append(d.Holders, s.holder(h, state))
	}
	for _, h := range l.Lost {
		d.Holders = append(d.Holders, s.holder(h, document.SlotLost))
	}
	return d
}

func (s Service) holder(h coordination.Holder, state document.LockHolderState) document.LockHolder {
	t, _, _ := s.Of.Records.Targets.Get(h.Owner)
	return document.LockHolder{Target: fleet.TargetID(h.Owner), Name: t.Name, Token: h.Token, State: state,
		Since: time.UnixMilli(h.Since).UnixNano(), Expires: time.UnixMilli(h.Expires).UnixNano()}
}

// ReleaseSlot releases the slot of a target by order of a user.
func (s Service) ReleaseSlot(ctx context.Context, by api.Caller, at route.LockName,
	r document.LockReleaseRequest) (document.Done, error) {
	return api.Done(s.release(ctx, by.Name, at.Lock, r), "The slot of %s is released. Lock: %s.", r.Owner, at.Lock)
}

func (s Service) release(ctx context.Context, by, lock string, r document.LockReleaseRequest) error {
	if r.Owner == "" || r.Reason == "" {
		return &api.Refusal{Status: api.BadRequest, Why: "cannot release a slot without an owner and a reason",
			Hint: "First make sure that the target has finished: fettle lock release LOCK TARGET --reason WHY"}
	}
	if len(r.Reason) > coordination.MaxReason {
		return &api.Refusal{Status: api.BadRequest, Hint: "Shorten the reason",
			Why: fmt.Sprintf("cannot use a reason of %d bytes: the maximum is %d", len(r.Reason), coordination.MaxReason)}
	}
	state, _, err := s.Of.read(ctx, lock)
	if errors.Is(err, ErrUnknown) && coordination.CheckName(lock) == nil {
		err = cmp.Or(s.Of.Records.Locks.Absent(ctx, lock), err) // without a majority, reads can be outdated
	}
	if errors.Is(err, ErrUnknown) {
		return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the lock %.80q", lock),
			Hint: "List the locks: fettle lock list"}
	}
	if err != nil {
		return err
	}
	for _, h := range slices.Concat(state.Holders, state.Lost) {
		if t, _, _ := s.Of.Records.Targets.Get(h.Owner); h.Owner == r.Owner || t.Name == r.Owner {
			_, _, err := s.Of.decide(ctx, lock,
				coordination.Event{Kind: coordination.Release, Owner: h.Owner, Token: h.Token}, order{by, r.Reason})
			return err
		}
	}
	return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("%.80q holds no slot of the lock %s", r.Owner, lock),
		Hint: "List the holders: fettle lock list"}
}
