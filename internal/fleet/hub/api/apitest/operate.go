package apitest

import (
	"cmp"
	"context"
	"maps"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Approve makes a target active.
func (h *Hub) Approve(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Active })
}

// Retire makes a target retired.
func (h *Hub) Retire(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Retired })
}

// Revoke makes a target revoked.
func (h *Hub) Revoke(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Revoked })
}

// SetLabels sets and removes labels.
func (h *Hub) SetLabels(ctx context.Context, by access.Principal, id fleet.TargetID, r document.LabelRequest) error {
	return h.change(ctx, id, by, func(t *fleet.Target) {
		labels := maps.Clone(t.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, r.Set)
		for _, k := range r.Remove {
			delete(labels, k)
		}
		t.Labels = labels
	})
}

// Move sets the organization of a target.
func (h *Hub) Move(ctx context.Context, by access.Principal, id fleet.TargetID, to fleet.Organization, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Organization = to })
}

// Pin sets the pin of a target.
func (h *Hub) Pin(ctx context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Pin = &p })
}

// Unpin removes the pin of a target.
func (h *Hub) Unpin(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Pin = nil })
}

// Freeze only adds an event to the log.
func (h *Hub) Freeze(ctx context.Context, by access.Principal, id fleet.TargetID, r document.FreezeRequest) error {
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.TargetFrozen,
		Target: id, By: by.Name, Text: r.Reason})
}

// Unfreeze only adds an event to the log.
func (h *Hub) Unfreeze(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.TargetUnfrozen,
		Target: id, By: by.Name})
}

// FreezeAll stores the freeze of the fleet.
func (h *Hub) FreezeAll(_ context.Context, by access.Principal, r document.FreezeRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freeze = &document.FleetFreeze{At: Now().UnixNano(), By: by.Name, Reason: r.Reason}
	if r.For > 0 {
		h.freeze.Until = h.freeze.At + r.For
	}
	return nil
}

// UnfreezeAll removes the freeze of the fleet.
func (h *Hub) UnfreezeAll(context.Context, access.Principal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freeze = nil
	return nil
}

// FrozenOrganization returns "": no organization is frozen.
func (h *Hub) FrozenOrganization(context.Context, fleet.Organization) fleet.Organization { return "" }

// FrozenAll returns the freeze of the fleet, or nil.
func (h *Hub) FrozenAll(context.Context) (*document.FleetFreeze, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.freeze, nil
}

// CreateJob returns a job that web1 has acknowledged already. The program "missing" fails on web1.
func (h *Hub) CreateJob(_ context.Context, by access.Principal, do document.JobRequest,
	targets []fleet.TargetID) (document.Job, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := document.Job{Format: document.JobFormat, ID: "q1", Targets: []document.JobTarget{}, What: do.What, Run: do.Run,
		Expires: Now().Add(cmp.Or(time.Duration(do.Expires), 7*24*time.Hour)).UnixNano(), By: by.Name, At: Now().UnixNano()}
	for _, id := range targets {
		a := document.JobTarget{ID: id, Name: h.targets[id].Name, Done: h.targets[id].Name == "web1"}
		a.State = document.JobWaits
		if a.Done {
			a.At, a.State = Now().UnixNano(), document.JobDone
			if do.Run != nil {
				a.Result = &fleet.CommandResult{Command: 7, Exit: 3, Stdout: "up 3 days\n", Duration: 12_000_000}
				a.State = document.JobFailed
				if len(do.Run.Argv) > 0 && do.Run.Argv[0] == "missing" {
					a.Result, a.Error = &fleet.CommandResult{Command: 7}, `cannot run "missing"`
				}
			}
		}
		r.Targets = append(r.Targets, a)
	}
	return r, nil
}

// Check reports a missing backup.
func (h *Hub) Check(context.Context) document.HubCheck {
	return document.HubCheck{Format: document.HubCheckFormat, Hub: "h1", Checks: []document.HubFinding{
		{Name: "bus", Well: true, Text: "healthy"}, {Name: "backup", Text: "there is no backup",
			Hint: "Create one: fettle hub backup FILE"},
	}}
}

// RequestExemption stores nothing.
func (h *Hub) RequestExemption(context.Context, access.Principal, document.ExemptionRequest,
	[]fleet.TargetID) (string, error) {
	return "e1", nil
}

// CreateEnvironment stores nothing.
func (h *Hub) CreateEnvironment(context.Context, access.Principal, document.EnvironmentRequest,
	[]fleet.TargetID) (string, error) {
	return "The environment exists.", nil
}
