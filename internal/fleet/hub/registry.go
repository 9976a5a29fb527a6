package hub

import (
	"context"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/limits"
	"fettle.dev/fettle/internal/fleet/pki"
)

// onTarget handles a change of the registry. It disconnects a target that is not active any longer.
func (h *Hub) onTarget(key string, t fleet.Target, rev uint64, gone bool) {
	h.leader.OnTarget(key, t, rev, gone)
	h.repository.OnTarget(key, t)
	id := fleet.TargetID(key)
	h.targets.OnTarget(id, t)
	if gone || t.Standing == fleet.Retired || t.Standing == fleet.Revoked {
		h.forget(id)
		if !gone {
			go h.certificates.RevokeOf(id, t)
		}
	}
}

// forget disconnects a target that has left the fleet, and removes the data about it.
func (h *Hub) forget(id fleet.TargetID) {
	h.exchange.Kick(id)
	if _, _, there := h.records.Exports.Get(string(id)); there {
		go func() {
			h.notices.Compatible(id)
			h.exports.Forget(string(id))
		}()
	}
	go h.requests.Forget(id)
	h.locks.Forget(id)
	h.waits.Forget(id)
	go h.targets.ForgetClaims(id)
	h.targets.Forget(id)
}

// onRevocation disconnects the targets of revoked certificates, and signs the lists of revoked
// certificates again if a hub was revoked.
func (h *Hub) onRevocation(ctx context.Context, r pki.Revocation) {
	for _, id := range h.exchange.Connected() {
		if t, _, ok := h.records.Targets.Get(string(id)); ok && h.keyring.IsRevoked(t) {
			h.exchange.Kick(id)
		}
	}
	h.members.OnRevoked(r)
	if n, err := pki.ParseName(r.Name); r.Serial != "" || err == nil && n.Kind == pki.HubKind {
		if err := h.certificates.SignLists(ctx); err != nil {
			h.warn(err.Error())
		}
	}
}

// noted records an operation of the registrar in the log before it takes effect.
func (c *core) noted(ctx context.Context, n pki.AuditRecord) error {
	return c.events.Record(ctx, notedEvent(n))
}

// rebuild restores a missing registry entry from the target's certificate, in the background.
func (c *core) rebuild(p pki.Peer) {
	if _, _, known := c.records.Targets.Get(p.Name.ID); known {
		return
	}
	c.retryQueue.Add(c.ctx, limits.RetryTask{
		Key: "registry/" + p.Name.ID,
		Do: func(ctx context.Context) error {
			_, err := c.registrar.Rebuild(ctx, p)
			return err
		},
		Again: func(err error) bool {
			c.warn(fmt.Sprintf("cannot restore the registry entry of %s: %v", p.Name.ID, err))
			_, refused := errors.AsType[*pki.Refusal](err)
			return !refused && c.exchange.IsConnected(fleet.TargetID(p.Name.ID))
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
