package targets

import (
	"context"
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
)

// A target can have its own freeze, and so can organizations and the fleet. The records are independent. A target is
// frozen as long as one of them is in force.

// Freeze refuses changes of a target. A second freeze replaces the first.
func (g *Registry) Freeze(ctx context.Context, by access.Principal, id fleet.TargetID, r document.FreezeRequest) error {
	err := g.putFreeze(ctx, by, assign.Freeze{Key: string(id), Targets: []fleet.TargetID{id}}, r)
	return g.Events.Did(ctx, by, fleet.TargetFrozen, id, "", r.Reason, err)
}

// Unfreeze removes the freeze of a target. Without a freeze it does nothing.
func (g *Registry) Unfreeze(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return g.Events.Did(ctx, by, fleet.TargetUnfrozen, id, "", "", g.Records.Freezes.Remove(ctx, string(id)))
}

// FreezeAll refuses changes of all targets, also of targets that enrol later. A second freeze of
// the fleet replaces the first.
func (g *Registry) FreezeAll(ctx context.Context, by access.Principal, r document.FreezeRequest) error {
	err := g.putFreeze(ctx, by, assign.Freeze{Key: assign.AllKey}, r)
	return g.Events.Did(ctx, by, fleet.TargetFrozen, "", "", "all targets: "+r.Reason, err)
}

// UnfreezeAll removes the freeze of the fleet. Freezes of single targets remain.
func (g *Registry) UnfreezeAll(ctx context.Context, by access.Principal) error {
	return g.Events.Did(ctx, by, fleet.TargetUnfrozen, "", "", "all targets", g.Records.Freezes.Remove(ctx, assign.AllKey))
}

// FreezeOrganization refuses changes of the targets of an organization and of the organizations below it, also of
// targets that join later. A second freeze replaces the first.
func (g *Registry) FreezeOrganization(ctx context.Context, by access.Principal, of fleet.Organization,
	r document.FreezeRequest) error {
	key := assign.OrganizationKey(of)
	err := g.putFreeze(ctx, by, assign.Freeze{Key: key, Organization: of, Targets: []fleet.TargetID{fleet.TargetID(key)}},
		r)
	return g.didOn(ctx, by, fleet.TargetFrozen, of, organizationText(of)+": "+r.Reason, err)
}

// UnfreezeOrganization removes the freeze of an organization. Other freezes remain.
func (g *Registry) UnfreezeOrganization(ctx context.Context, by access.Principal, of fleet.Organization) error {
	return g.didOn(ctx, by, fleet.TargetUnfrozen, of, organizationText(of),
		g.Records.Freezes.Remove(ctx, assign.OrganizationKey(of)))
}

// didOn records the operation of a user on an organization, if err is nil.
func (g *Registry) didOn(ctx context.Context, by access.Principal, kind fleet.HubEventKind, of fleet.Organization,
	text string, err error) error {
	if err == nil {
		g.Events.Note(ctx, fleet.HubEvent{Kind: kind, By: by.Name, Text: text, Organization: of})
	}
	return err
}

func organizationText(of fleet.Organization) string { return "the organization " + string(of) }

// OrganizationFreezes returns the freezes of organizations that are in force, by organization.
func (g *Registry) OrganizationFreezes(context.Context) map[fleet.Organization]document.FleetFreeze {
	out := map[fleet.Organization]document.FleetFreeze{}
	for _, f := range g.Records.Freezes.Values() {
		if f.Organization != "" && f.InForce(g.Now().Unix()) {
			out[f.Organization] = document.FleetFreeze{At: f.At, Until: f.Until * int64(time.Second), By: f.By, Reason: f.Reason}
		}
	}
	return out
}

// FrozenOrganization returns the organization with a freeze in force that contains another one, or "". Users and the
// repository order freezes.
func (g *Registry) FrozenOrganization(ctx context.Context, of fleet.Organization) fleet.Organization {
	ordered := g.OrganizationFreezes(ctx)
	declared, _, _ := g.Records.Limits.Get(assign.LimitsKey)
	for _, path := range of.Path() {
		_, frozen := ordered[path]
		for _, l := range declared {
			frozen = frozen || l.Organization == path && l.Freeze != ""
		}
		if frozen {
			return path
		}
	}
	return ""
}

// FrozenAll returns the freeze of the fleet, or nil if it does not exist or has expired.
func (g *Registry) FrozenAll(context.Context) (*document.FleetFreeze, error) {
	f, _, ok := g.Records.Freezes.Get(assign.AllKey)
	if !ok || !f.InForce(g.Now().Unix()) {
		return nil, nil
	}
	return &document.FleetFreeze{At: f.At, Until: f.Until * int64(time.Second), By: f.By, Reason: f.Reason}, nil
}

// putFreeze writes a freeze and replaces any earlier one. It stores the start in At only for
// display: a freeze is in force at once, also on a hub whose clock is behind.
func (g *Registry) putFreeze(ctx context.Context, by access.Principal, f assign.Freeze,
	r document.FreezeRequest) error {
	f.At, f.Reason, f.By = g.Now().UnixNano(), r.Reason, by.Name
	if r.For > 0 {
		f.Until = g.Now().Add(time.Duration(r.For)).Unix()
	}
	_, rev, _ := g.Records.Freezes.Get(f.Key)
	for {
		err := g.Records.Freezes.Put(ctx, f.Key, f, rev)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		if rev, err = g.Records.Freezes.StoredRev(ctx, f.Key); err != nil {
			return err
		}
	}
}
