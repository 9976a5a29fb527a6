// Package slots acquires slots of locks for the runs of a host, and releases them.
//
//	k := &slots.Keeper{State: files, File: "/slots.json", Ask: ask, Busy: busy, Reserved: reboots, Clock: clock, …}
//	go k.Run(ctx)
//	k.Serve(ctx, conn) // of one run
//
// # Meaning
//
//   - Absence: without an agent, no program serves runs, and a run that needs a lock is refused.
//   - Failure: if no hub answers, the run waits, and ends without a change at the end of its wait.
//   - Unknown: the agent stores that it may hold a slot before it asks for one. So it also releases a slot whose grant
//     it never received.
//   - Repetition: the owner of a slot is the target, so a run that asks again keeps its slot. Requests have an order:
//     a release that a hub gets after a later request of the host has no effect.
//   - Interruption: the slots of a run that ended without a release are kept, without a new lease, while a run of the
//     host is unfinished or another process changes the host. Then the agent releases them. This is also true after a
//     power cut, and after the agent was killed.
//   - Reboots: the same lock can limit reboots. The agent releases a slot when neither a run nor a reboot needs it.
package slots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Keeper holds slots for the runs of a host. All fields above mu are required. It is safe for concurrent use.
type Keeper struct {
	State host.FS // the state directory of the agent
	File  string  // in State

	// Order returns the order of the next request of the host for a slot, see Sequence.
	Order func() uint64
	Ask   func(ctx context.Context, r fleet.SlotRequest) (fleet.SlotAnswer, error)
	// Busy reports whether a run is unfinished, or another process changes the host.
	Busy func(ctx context.Context) (bool, error)
	// Reserved reports whether a reboot needs the slot of a lock.
	Reserved func(lock string) bool
	// Clock returns the time since the boot of the host.
	Clock func() time.Duration
	Warn  func(text string)
	// Again is the time between two attempts. Look is the time between two tries to release slots.
	Again, Look time.Duration

	mu     sync.Mutex
	active bool // a run is served

	// Gate orders the requests of runs and of reboots for the same lock.
	Gate sync.Mutex
}

// slot is a slot that the host may hold. Token is 0 if it is unknown.
type slot struct {
	Lock  string `json:"lock"`
	Token uint64 `json:"token,omitempty"`
}

// Holds reports whether a run may hold a slot of a lock.
func (k *Keeper) Holds(lock string) bool {
	list, err := k.load()
	return err != nil || slices.ContainsFunc(list, func(s slot) bool { return s.Lock == lock })
}

// Run releases the slots of runs that ended without a release, until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	for {
		if err := k.settle(ctx); err != nil && ctx.Err() == nil {
			k.Warn("cannot release slots of locks: " + err.Error())
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(k.Look):
		}
	}
}

// settle releases the slots if no run needs them. Without an answer of a hub, it tries again later.
func (k *Keeper) settle(ctx context.Context) error {
	if !k.begin() {
		return nil
	}
	defer k.end()
	list, err := k.load()
	if err != nil || len(list) == 0 {
		return err
	}
	if busy, err := k.Busy(ctx); err != nil || busy {
		return err
	}
	k.releaseAll(ctx)
	return nil
}

// begin reserves the slots for one run, and reports whether no other run has them.
func (k *Keeper) begin() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.active
	k.active = true
	return !was
}

func (k *Keeper) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.active = false
}

// try acquires a slot of each lock, or none. why is the reason for which it has none.
func (k *Keeper) try(ctx context.Context, names []string) (got grants, why string, err error) {
	got = grants{began: k.Clock(), tokens: map[string]uint64{}}
	for _, name := range names {
		if err := k.keep(name, 0); err != nil {
			return got, "", err
		}
		a, err := k.acquire(ctx, name)
		switch {
		case err != nil:
			why = fmt.Sprintf("no hub answers about a slot of the lock %s: %v", name, err)
		case !a.Granted: // the host has no slot, and a release would end its entry among the waiting targets
			got.unknown, got.wait, why = a.Unknown, time.Duration(a.Wait), a.Why
			if err := k.forget(name); err != nil {
				return got, "", err
			}
		default:
			got.add(name, a)
			if err := k.keep(name, a.Token); err != nil {
				return got, "", err
			}
			continue
		}
		k.releaseAll(ctx)
		return got, why, nil
	}
	return got, "", nil
}

// grants are slots of one request.
type grants struct {
	began   time.Duration // before the request
	lease   time.Duration // the shortest one
	tokens  map[string]uint64
	unknown bool          // the fleet does not have the lock
	wait    time.Duration // the declared limit of the wait; 0: none
}

func (g *grants) add(name string, a fleet.SlotAnswer) {
	g.tokens[name] = a.Token
	if lease := time.Duration(a.Lease); g.lease == 0 || lease < g.lease {
		g.lease = lease
	}
}

// maxMargin limits the margin.
const maxMargin = 2 * time.Minute

// until returns the time at which a run must stop: a third of the lease before its end, at most maxMargin. The time
// remains for the restoration of the host.
func (g *grants) until() time.Duration { return g.began + g.lease - min(g.lease/3, maxMargin) }

func (k *Keeper) acquire(ctx context.Context, lock string) (fleet.SlotAnswer, error) {
	k.Gate.Lock()
	defer k.Gate.Unlock()
	return k.Ask(ctx, fleet.SlotRequest{Action: fleet.SlotAcquire, Lock: lock, Order: k.Order()})
}

// releaseAll releases all slots that the host may hold. Slots without an answer remain stored.
func (k *Keeper) releaseAll(ctx context.Context) {
	list, err := k.load()
	if err != nil {
		k.Warn(err.Error())
		return
	}
	for _, s := range list {
		if k.release(ctx, s) != nil {
			continue
		}
		if err := k.forget(s.Lock); err != nil {
			k.Warn(err.Error())
		}
	}
}

// withdraw ends the wait for slots.
func (k *Keeper) withdraw(ctx context.Context, names []string) {
	k.releaseAll(ctx)
	for _, name := range names {
		_ = k.release(ctx, slot{Lock: name}) // without an answer, the entry among the waiting targets ends by itself
	}
}

// release releases a slot at the hub, unless a reboot needs it.
func (k *Keeper) release(ctx context.Context, s slot) error {
	k.Gate.Lock()
	defer k.Gate.Unlock()
	if k.Reserved(s.Lock) {
		return nil
	}
	_, err := k.Ask(ctx, fleet.SlotRequest{Action: fleet.SlotRelease, Lock: s.Lock, Token: s.Token, Order: k.Order()})
	return err
}

// keep stores that the host may hold a slot. A known token replaces an unknown one.
func (k *Keeper) keep(lock string, token uint64) error {
	list, err := k.load()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(list, func(s slot) bool { return s.Lock == lock })
	if i < 0 {
		list, i = append(list, slot{Lock: lock}), len(list)
	} else if list[i].Token == token {
		return nil
	}
	list[i].Token = token
	return k.save(list)
}

func (k *Keeper) forget(lock string) error {
	list, err := k.load()
	if err != nil {
		return err
	}
	return k.save(slices.DeleteFunc(list, func(s slot) bool { return s.Lock == lock }))
}

func (k *Keeper) load() (list []slot, err error) {
	text, err := smallfile.Read(k.State, k.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		err = fmt.Errorf("cannot read the slots of this host: %w", err)
	}
	return list, err
}

func (k *Keeper) save(list []slot) error {
	if len(list) == 0 {
		return smallfile.Remove(k.State, k.File)
	}
	text, err := json.Marshal(list)
	if err == nil {
		err = smallfile.Write(k.State, k.File, text)
	}
	if err != nil {
		err = fmt.Errorf("cannot store the slots of this host: %w", err)
	}
	return err
}
