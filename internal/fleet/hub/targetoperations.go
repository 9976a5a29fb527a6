package hub

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Operations of users on targets. Each changes one entry of the registry by compare-and-set, and
// the mirrors of all hubs get the change.

// stand changes the standing of a target.
func (h *Hub) stand(ctx context.Context, by access.Principal, id fleet.TargetID, to fleet.Standing, reason string) error {
	_, err := h.registrar.SetStanding(ctx, id, to, by.Name, reason)
	var refused *pki.Refusal
	if errors.As(err, &refused) {
		return &api.Refusal{Status: refused.Status, Why: refused.Text}
	}
	return err
}

// edit changes the registry entry of a target.
func (h *Hub) edit(ctx context.Context, by access.Principal, id fleet.TargetID, change func(*fleet.Target) error) error {
	_, err := h.targets.change(ctx, string(id), func(t *fleet.Target) error {
		t.Changed, t.By = h.now().Unix(), by.Name
		return change(t)
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the target %s", id),
			Hint: "List the targets: fettle target list"}
	}
	return err
}

// Approve activates a target that waits for approval.
func (h *Hub) Approve(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return h.stand(ctx, by, id, fleet.Active, "")
}

// Retire removes a target from the fleet. Its host remains as it is.
func (h *Hub) Retire(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return h.stand(ctx, by, id, fleet.Retired, reason)
}

// Revoke ends the trust in a target. Every hub refuses it from now on.
func (h *Hub) Revoke(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return h.stand(ctx, by, id, fleet.Revoked, reason)
}

// SetLabels changes labels of a target.
func (h *Hub) SetLabels(ctx context.Context, by access.Principal, id fleet.TargetID, r document.LabelRequest) error {
	return h.edit(ctx, by, id, func(t *fleet.Target) error {
		labels := maps.Clone(t.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, r.Set)
		for _, k := range r.Remove {
			delete(labels, k)
		}
		if err := fleet.CheckLabels(labels); err != nil {
			return &api.Refusal{Status: http.StatusBadRequest, Why: err.Error()}
		}
		t.Labels = labels
		return nil
	})
}

// did records the operation of a user, if err is nil. A failure to record is only a warning: the
// operation was done, and the audit log contains it.
func (h *Hub) did(ctx context.Context, by access.Principal, kind fleet.HubEventKind, id fleet.TargetID, module,
	text string, err error) error {
	if err == nil {
		h.note(ctx, fleet.HubEvent{Kind: kind, Target: id, Module: module, By: by.Name, Text: text})
	}
	return err
}

// Pin keeps a target, or a module of it, at a revision.
func (h *Hub) Pin(ctx context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error {
	p.By = by.Name
	err := h.edit(ctx, by, id, func(t *fleet.Target) error {
		t.Pin = &p
		return h.checkPermit(p, *t)
	})
	return h.did(ctx, by, fleet.Pinned, id, p.Module, "to "+p.Ref, err)
}

// checkPermit refuses early what the target would refuse later. It cannot check which signers the
// target trusts.
func (h *Hub) checkPermit(p fleet.Pin, t fleet.Target) error {
	if p.Permit == "" {
		return nil
	}
	permit, _, err := content.ReadPermit(p.Permit)
	if err == nil {
		err = permit.For(h.repository().Name, p.Ref, t.Name, t.Labels, h.now().Unix())
	}
	if err != nil {
		return &api.Refusal{Status: http.StatusBadRequest, Why: err.Error(), Hint: "Pin it to the whole commit, and sign for it: fettle target pin " + t.Name + " --branch COMMIT --permit"}
	}
	return nil
}

// Unpin removes a pin.
func (h *Hub) Unpin(ctx context.Context, by access.Principal, id fleet.TargetID, module string) error {
	err := h.edit(ctx, by, id, func(t *fleet.Target) error {
		if t.Pin == nil || t.Pin.Module != module {
			return &api.Refusal{Status: http.StatusConflict, Why: "cannot unpin: the target does not have this pin",
				Hint: "See its pin: fettle target show " + t.Name}
		}
		t.Pin = nil
		return nil
	})
	return h.did(ctx, by, fleet.Unpinned, id, module, "", err)
}
