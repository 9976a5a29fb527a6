package slots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/executor/slots"
)

// unknownFor is the time for which a run waits for a lock that the fleet does not have: a hub may create it soon.
const unknownFor = time.Minute

// maxNames is the maximum number of locks of a run.
const maxNames = 100

// Serve serves one run until it ends, and closes the connection.
func (k *Keeper) Serve(ctx context.Context, conn io.ReadWriteCloser) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	defer conn.Close()
	s := &session{k: k, out: json.NewEncoder(conn), requests: make(chan slots.Request)}
	go s.read(ctx, conn)
	first, ok := <-s.requests
	switch {
	case !ok:
		return
	case len(first.Acquire) == 0 || len(first.Acquire) > maxNames:
		s.answer(slots.Answer{Error: "the request names no locks, or too many"})
		return
	case !s.begin(ctx, first.Wait):
		s.answer(slots.Answer{Error: otherRun})
		return
	}
	defer k.end()
	names := slices.Compact(slices.Sorted(slices.Values(first.Acquire)))
	got, err := grants{tokens: first.Held}, error(nil)
	if len(first.Held) > 0 {
		got, err = s.k.takeOver(ctx, names, got)
	} else {
		got, err = s.wait(ctx, names, first.Wait)
	}
	if err != nil {
		s.answer(slots.Answer{Error: err.Error()})
		return
	}
	s.hold(ctx, names, got)
}

// session is the connection of one run.
type session struct {
	k        *Keeper
	out      *json.Encoder
	requests chan slots.Request // closed when the run disconnects
}

const otherRun = "another run of this host holds or releases its slots"

// begin waits until no other run has the slots, and reports success.
func (s *session) begin(ctx context.Context, limit time.Duration) bool {
	for began := s.k.Clock(); !s.k.begin(); {
		if s.k.Clock()-began >= limit {
			return false
		}
		s.answer(slots.Answer{Waiting: "the run waits: " + otherRun})
		select {
		case <-ctx.Done():
			return false
		case <-s.requests: // the run disconnected
			return false
		case <-time.After(min(s.k.Look, time.Second)):
		}
	}
	return true
}

func (s *session) answer(a slots.Answer) { _ = s.out.Encode(a) } // if it fails, requests ends

func (s *session) read(ctx context.Context, from io.Reader) {
	defer close(s.requests)
	in := json.NewDecoder(io.LimitReader(from, 1<<20))
	for {
		var r slots.Request
		if in.Decode(&r) != nil {
			return
		}
		select {
		case s.requests <- r:
		case <-ctx.Done():
			return
		}
	}
}

// errWithdrawn is the error of a run that does not need its slots any more.
var errWithdrawn = errors.New("the run does not need its slots any more")

// wait acquires all slots. After an error, it has released them. The limit of a lock whose slots are taken replaces the
// limit of the request, unless the run does not wait at all.
func (s *session) wait(ctx context.Context, names []string, limit time.Duration) (grants, error) {
	began := s.k.Clock()
	for {
		got, why, err := s.k.try(ctx, names)
		if err != nil {
			s.k.withdraw(ctx, names)
			return got, err
		}
		if why == "" {
			return got, nil
		}
		if got.wait > 0 && limit > 0 {
			limit = got.wait
		}
		waited := s.k.Clock() - began
		if waited >= limit || got.unknown && waited >= unknownFor {
			s.k.withdraw(ctx, names)
			return got, fmt.Errorf("after %s: %s", waited.Round(time.Second), why)
		}
		s.answer(slots.Answer{Waiting: "the run waits: " + why})
		select {
		case <-ctx.Done():
			return got, ctx.Err()
		case <-s.requests: // the run disconnected, or releases
			s.k.withdraw(ctx, names)
			return got, errWithdrawn
		case <-time.After(s.k.Again):
		}
	}
}

// hold renews the leases until the run releases its slots, or disconnects. After a disconnection, the slots stay taken.
func (s *session) hold(ctx context.Context, names []string, got grants) {
	s.answer(slots.Answer{Granted: got.tokens, Until: got.until()})
	for {
		select {
		case <-ctx.Done():
			return
		case r, ok := <-s.requests:
			if ok && r.Release {
				s.k.releaseAll(ctx)
				s.answer(slots.Answer{Released: true})
			}
			return
		case <-time.After(min(max(got.lease/6, time.Second), s.k.Again)):
		}
		next, lost := s.k.renew(ctx, names, got)
		if lost != "" {
			s.answer(slots.Answer{Error: lost})
			continue
		}
		if got = next; got.began > 0 {
			s.answer(slots.Answer{Granted: got.tokens, Until: got.until()})
		}
	}
}

// takeOver renews the leases of a run that got its slots from another process of the agent. After an error, the slots
// stay as they are: the run still works, until its leases are about to end.
func (k *Keeper) takeOver(ctx context.Context, names []string, held grants) (grants, error) {
	got, lost := k.renew(ctx, names, held)
	if lost == "" && got.began == 0 {
		lost = "no hub answers"
	}
	if lost != "" {
		return held, errors.New(lost)
	}
	return got, nil
}

// renew renews the leases. Without an answer, it returns the grants unchanged. lost is the reason for which the slots
// are lost.
func (k *Keeper) renew(ctx context.Context, names []string, got grants) (next grants, lost string) {
	next = grants{began: k.Clock(), tokens: map[string]uint64{}}
	for _, name := range names {
		a, err := k.acquire(ctx, name)
		switch {
		case err != nil:
			return got, ""
		case !a.Granted:
			return got, a.Why
		}
		next.add(name, a)
		if err := k.keep(name, a.Token); err != nil {
			return got, ""
		}
	}
	if !maps.Equal(next.tokens, got.tokens) {
		return got, "the lease ended, and another target may have had the slot"
	}
	return next, ""
}
