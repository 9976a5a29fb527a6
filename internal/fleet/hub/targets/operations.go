package targets

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Operations of users on targets. Each changes one entry of the registry by compare-and-set, and
// the mirrors of all hubs get the change.

// stand changes the standing of a target.
func (g *Registry) stand(ctx context.Context, by access.Principal, id fleet.TargetID, to fleet.Standing,
	reason string) error {
	_, err := g.Registrar.SetStanding(ctx, id, to, by.Name, reason)
	var refused *pki.Refusal
	if errors.As(err, &refused) {
		return &api.Refusal{Status: refused.Status, Why: refused.Text}
	}
	return err
}

// edit changes the registry entry of a target.
func (g *Registry) edit(ctx context.Context, by access.Principal, id fleet.TargetID,
	change func(*fleet.Target) error) error {
	_, err := g.Records.Targets.Change(ctx, string(id), func(t *fleet.Target) error {
		t.Changed, t.By = g.Now().Unix(), by.Name
		return change(t)
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the target %s", id),
			Hint: "List the targets: fettle target list"}
	}
	return err
}

// Approve activates a target that waits for approval.
func (g *Registry) Approve(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return g.stand(ctx, by, id, fleet.Active, "")
}

// Retire removes a target from the fleet. Its host remains as it is.
func (g *Registry) Retire(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return g.stand(ctx, by, id, fleet.Retired, reason)
}

// Revoke ends the trust in a target. Every hub refuses it from now on.
func (g *Registry) Revoke(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return g.stand(ctx, by, id, fleet.Revoked, reason)
}

// SetLabels changes labels of a target.
func (g *Registry) SetLabels(ctx context.Context, by access.Principal, id fleet.TargetID,
	r document.LabelRequest) error {
	err := g.edit(ctx, by, id, func(t *fleet.Target) error {
		labels := maps.Clone(t.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, r.Set)
		for _, k := range r.Remove {
			delete(labels, k)
		}
		if err := fleet.CheckLabels(labels); err != nil {
			return &api.Refusal{Status: api.BadRequest, Why: err.Error()}
		}
		t.Labels = labels
		return nil
	})
	return g.Events.Did(ctx, by, fleet.Labelled, id, "", labelsText(r), err)
}

// Move moves a target to another organization. If it is there already, it only records the event.
func (g *Registry) Move(ctx context.Context, by access.Principal, id fleet.TargetID, to fleet.Organization,
	reason string) error {
	err := g.edit(ctx, by, id, func(t *fleet.Target) error {
		if t.Organization != to {
			t.Organization, t.Moved = to, g.Now().UnixNano()
		}
		return nil
	})
	// The event names no organization: the new one must not learn the previous one.
	return g.Events.Did(ctx, by, fleet.Moved, id, "", reason, err)
}

// labelsText describes a change of labels as it is typed: "env=prod web-", sorted.
func labelsText(r document.LabelRequest) string {
	var words []string
	for k, v := range r.Set {
		words = append(words, k+"="+v)
	}
	for _, k := range r.Remove {
		words = append(words, k+"-")
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

// Pin keeps a target, or a module of it, at a revision.
func (g *Registry) Pin(ctx context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error {
	p.By = by.Name
	err := g.edit(ctx, by, id, func(t *fleet.Target) error {
		if e, is := assign.EnvironmentsOf(g.Records.Environments.Values(), g.Now().Unix())[id]; is {
			return &api.Refusal{Status: api.Conflict,
				Why:  fmt.Sprintf("cannot pin %s: it is in the environment %s, which follows %s", t.Name, e.Name, e.Branch),
				Hint: "Remove the environment first: fettle environment remove " + e.Name}
		}
		t.Pin = &p
		return g.checkPermit(p, *t)
	})
	return g.Events.Did(ctx, by, fleet.Pinned, id, p.Module, "to "+p.Ref, err)
}

// checkPermit refuses early what the target would refuse later. It cannot check which signers the
// target trusts.
func (g *Registry) checkPermit(p fleet.Pin, t fleet.Target) error {
	if p.Permit == "" {
		return nil
	}
	permit, _, err := content.ReadPermit(p.Permit)
	if err == nil {
		err = permit.For(g.Repository().Name, p.Ref, t.Name, t.Labels, g.Now().Unix())
	}
	if err != nil {
		return &api.Refusal{Status: api.BadRequest, Why: err.Error(),
			Hint: "Pin it to the whole commit, and sign for it: fettle target pin " + t.Name + " --branch COMMIT --permit"}
	}
	return nil
}

// Unpin removes a pin.
func (g *Registry) Unpin(ctx context.Context, by access.Principal, id fleet.TargetID, module string) error {
	err := g.edit(ctx, by, id, func(t *fleet.Target) error {
		if t.Pin == nil || t.Pin.Module != module {
			return &api.Refusal{Status: api.Conflict, Why: "cannot unpin: the target does not have this pin",
				Hint: "See its pin: fettle target show " + t.Name}
		}
		t.Pin = nil
		return nil
	})
	return g.Events.Did(ctx, by, fleet.Unpinned, id, module, "", err)
}

// Suspect marks a target as not reliable. A target that is marked already keeps its first reason.
func (g *Registry) Suspect(ctx context.Context, by access.Principal, id fleet.TargetID, because string) error {
	if t, _, ok := g.Records.Targets.Get(string(id)); ok && t.Suspect != nil {
		return nil
	}
	err := g.edit(ctx, by, id, func(t *fleet.Target) error {
		t.Suspect = &fleet.Suspicion{Reason: because, By: by.Name, Since: g.Now().Unix()}
		return nil
	})
	return g.Events.Did(ctx, by, fleet.Suspected, id, "", because, err)
}

// Trust removes the mark. Without a mark it has no effect. If several hosts still have the identity
// of the target, their next claims prove it again.
func (g *Registry) Trust(ctx context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	if err := g.claims.forget(ctx, id); err != nil {
		return err
	}
	err := g.edit(ctx, by, id, func(t *fleet.Target) error { t.Suspect = nil; return nil })
	return g.Events.Did(ctx, by, fleet.Trusted, id, "", reason, err)
}

// Active returns an active target. If the registry has no entry of a target with a valid
// certificate, the entry was lost: rebuild restores it.
func (g *Registry) Active(ctx context.Context, id fleet.TargetID) (fleet.Target, error) {
	t, _, ok := g.Records.Targets.Get(string(id))
	if !ok {
		return t, fmt.Errorf("%w: this hub has no entry of the target %s", fleet.ErrNotFound, id)
	}
	if t.Standing != fleet.Active {
		return t, fmt.Errorf("%w: the target %s is %s", fleet.ErrDenied, t.Name, t.Standing)
	}
	return t, nil
}
