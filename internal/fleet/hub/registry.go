package hub

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/view"
)

// introduce stores the signing certificate of this hub for the other hubs. If the fleet follows no
// repository, it also stores the repository of the settings of this hub.
func (h *Hub) introduce(ctx context.Context) error {
	own, err := h.keys.Signer()
	if err != nil {
		return err
	}
	if _, err := h.records.Buckets["settings"].Put(ctx, "signer/"+h.set.Name, pki.EncodeCertificates(own)); err != nil {
		return fmt.Errorf("cannot store the signing certificate of this hub for the other hubs: %w", err)
	}
	if _, _, there := h.records.Repositories.Get(sourceKey); there || h.set.Repository.URL == "" {
		return nil
	}
	// Only if no other hub was faster: the mirror may not have the latest writes.
	if err := h.records.Repositories.Put(ctx, sourceKey, h.set.Repository, 0); !errors.Is(err, fleet.ErrConflict) {
		return err
	}
	return nil
}

// sourceKey is the key of the only repository of a fleet.
const sourceKey = "main"

// repository returns the repository that the fleet follows. Its URL is "" if there is none.
func (h *Hub) repository() records.Repository {
	r, _, _ := h.records.Repositories.Get(sourceKey)
	// The files of keys belong to each hub: their paths can differ between hubs.
	if own := h.set.Repository; own.Key != "" || own.Known != "" {
		r.Key, r.Known = own.Key, own.Known
	}
	return r
}

// onTarget handles a change of the registry. It disconnects a target that is not active any longer.
func (h *Hub) onTarget(key string, t fleet.Target, rev uint64, gone bool) {
	h.tell(assign.Event{Rev: rev, Kind: assign.TargetEvent, Key: key, Target: unless(gone, &t)})
	if h.pins.changed(key, t) {
		h.refollow()
	}
	h.targets.OnTarget(fleet.TargetID(key), t)
	if gone || t.Standing == fleet.Retired || t.Standing == fleet.Revoked {
		h.exchange.Kick(fleet.TargetID(key))
		if _, _, exports := h.records.Exports.Get(key); exports {
			go h.forgetExports(key)
		}
		go h.requests.Forget(fleet.TargetID(key))
		go h.targets.ForgetClaims(fleet.TargetID(key))
		if !gone {
			go h.certificates.RevokeOf(fleet.TargetID(key), t)
		}
		h.targets.Forget(fleet.TargetID(key))
	}
}

// pinned knows the refs to which targets are pinned. The zero value is ready.
type pinned struct {
	mu  sync.Mutex
	all map[string]string // ref by target ID
}

// changed stores the pin of a target; the zero value means that the target was removed. It reports
// whether the set of followed refs may change. Most changes of targets do not, and collecting the
// refs of all targets after each of them is too slow in a large fleet.
func (p *pinned) changed(key string, t fleet.Target) bool {
	ref := ""
	if t.Pin != nil && t.Standing == fleet.Active {
		ref = t.Pin.Ref
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[key] == ref {
		return false
	}
	if p.all == nil {
		p.all = map[string]string{}
	}
	if p.all[key] = ref; ref == "" {
		delete(p.all, key)
	}
	return true
}

// followFacts applies revocations until ctx ends: it disconnects the targets of revoked
// certificates.
func (h *Hub) followFacts(ctx context.Context) error {
	keys := func() fleet.Keys {
		keys, err := h.signingKeys()
		if err != nil {
			h.warn(err.Error())
		}
		return keys
	}
	return h.revoked.Follow(ctx, h.records.Buckets["facts"], keys, func(r pki.Revocation, err error) {
		if err != nil {
			h.warn("cannot accept a revocation: " + err.Error())
			return
		}
		h.ring.forget()
		for _, id := range h.exchange.Connected() {
			if t, _, ok := h.records.Targets.Get(string(id)); ok && h.isRevoked(t) {
				h.exchange.Kick(id)
			}
		}
		h.members.OnRevoked(r)
		if n, err := pki.ParseName(r.Name); r.Serial != "" || err == nil && n.Kind == pki.HubKind {
			if err := h.certificates.SignLists(ctx); err != nil {
				h.warn(err.Error())
			}
		}
	})
}

// refollow updates the set of followed refs.
func (h *Hub) refollow() {
	if err := h.watchRefs(); err != nil {
		h.warn(err.Error())
	}
}

func (h *Hub) isRevoked(t fleet.Target) bool {
	n := pki.Name{Fleet: h.set.Fleet, Kind: pki.TargetKind, ID: string(t.ID)}
	if h.revoked.Revoked("", n) {
		return true
	}
	for _, serial := range t.Serials {
		if h.revoked.Revoked(serial, n) {
			return true
		}
	}
	return false
}

// tell passes an event to the leader, if this hub leads.
func (h *Hub) tell(e assign.Event) {
	h.mu.Lock()
	l := h.leader
	h.mu.Unlock()
	if l != nil {
		l.queue.add(e)
	}
}

// unless returns v, or nil if the entry is gone.
func unless[T any](gone bool, v *T) *T {
	if gone {
		return nil
	}
	return v
}

// tellAll passes the whole present state as events.
func (h *Hub) tellAll(tell func(assign.Event)) {
	h.records.Targets.Each(func(key string, t fleet.Target, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.TargetEvent, Key: key, Target: &t})
	})
	h.records.Assignments.Each(func(key string, g records.Assignment, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.AssignmentEvent, Key: key, Assignment: &g.Assignment})
	})
	h.records.Freezes.Each(func(key string, f assign.Freeze, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.FreezeEvent, Key: key, Freeze: &f})
	})
	h.records.Binaries.Each(func(key string, p assign.BinarySetting, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.BinaryEvent, Key: key, Binary: &p})
	})
	h.records.Approvals.Each(func(key string, a assign.Approval, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.ApprovalEvent, Key: key, Approval: &a})
	})
	h.records.Refs.Each(func(_ string, r records.Ref, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.RefEvent, Key: r.Name, Ref: r.Result()})
	})
	h.records.Exports.Each(func(key string, e records.Exports, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.ExportsEvent, Key: key, Exports: &e.Values})
	})
	h.records.MinimumGenerations.Each(func(key string, f fleet.Have, rev uint64) {
		tell(assign.Event{Rev: rev, Kind: assign.MinimumGenerationEvent, Key: key, MinimumGeneration: &f})
	})
}

func (h *Hub) leading(l *leader) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leader = l
}

// leadOn leads as long as the hub holds the lease. After an error it starts again.
func (h *Hub) leadOn(ctx context.Context, fence uint64) {
	if err := h.events.Record(ctx, fleet.HubEvent{Kind: fleet.LeaderChanged,
		Text: fmt.Sprintf("%s leads, number %d", h.set.Name, fence)}); err != nil {
		h.warn(err.Error())
	}
	for ctx.Err() == nil {
		if err := h.lead(ctx, fence); err != nil && ctx.Err() == nil {
			h.warn("cannot lead: " + err.Error())
			if errors.Is(err, errStuck) {
				return // the caller then releases the lease
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}

// computed stores the last result for Because.
func (h *Hub) computed(out assign.Output) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out.Assignments = nil // they are in their mirror
	h.out = out
}

// noted records an operation of the registrar in the log before it takes effect.
func (h *Hub) noted(ctx context.Context, n pki.AuditRecord) error {
	return h.events.Record(ctx, notedEvent(n))
}

// rebuild restores a missing registry entry from the target's certificate, in the background.
func (h *Hub) rebuild(p pki.Peer) {
	if _, _, known := h.records.Targets.Get(p.Name.ID); known {
		return
	}
	h.retryQueue.Add(h.ctx, limits.RetryTask{
		Key: "registry/" + p.Name.ID,
		Do: func(ctx context.Context) error {
			_, err := h.registrar.Rebuild(ctx, p)
			return err
		},
		Again: func(err error) bool {
			h.warn(fmt.Sprintf("cannot restore the registry entry of %s: %v", p.Name.ID, err))
			_, refused := errors.AsType[*pki.Refusal](err)
			return !refused && h.exchange.IsConnected(fleet.TargetID(p.Name.ID))
		},
	})
}

// notedEvent converts an operation of the registrar to an event.
func notedEvent(n pki.AuditRecord) fleet.HubEvent {
	kind := fleet.TargetEnrolled
	switch n.Operation {
	case "standing":
		kind = fleet.TargetRetired
	case "revoke":
		kind = fleet.TargetRevoked
	}
	return fleet.HubEvent{Kind: kind, Target: n.Target, By: n.By, Text: n.Operation + ": " + n.Text}
}

// followView updates the read model until ctx ends. After an error of the log or of a store it
// starts again.
func (h *Hub) followView(ctx context.Context) error {
	sources := view.Sources{Log: h.events.Log, Targets: h.records.Buckets["targets"],
		Assignments: h.records.Buckets["assignments"], Open: h.openAssignmentRecord}
	for {
		var err error
		// An empty append returns the end of the log.
		if sources.End, err = h.events.Log.Append(ctx, nil); err == nil {
			h.logEnd.Store(sources.End)
			err = h.view.Follow(ctx, sources)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.warn(fmt.Sprintf("cannot update the read model: %v", err))
		h.targets.ForgetReports()
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter):
		}
	}
}
