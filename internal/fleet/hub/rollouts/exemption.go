package rollouts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// maxExemptions limits the requests that wait and the exemptions in force.
const maxExemptions = 20

// keptExemptions is how long the list shows an exemption after its end.
const keptExemptions = 7 * 24 * time.Hour

// Exemptions stores exemptions of targets from their windows, which the hub that leads puts into effect. It implements
// api.Exemptions.
type Exemptions struct {
	Now     func() time.Time
	Records *records.Table
	Events  events.Recorder
}

// HandleRoutes registers the handlers of stored exemptions.
func (x Exemptions) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.Exemptions(), x.Exemptions)
	api.Handle(t, route.ApproveExemption(), x.ApproveExemption)
	api.HandleDone(t, route.EndExemption(), "It has ended. Assignments that targets got meanwhile stay without windows.",
		x.EndExemption)
}

// Exemptions returns the stored exemptions, the newest first.
func (x Exemptions) Exemptions(context.Context) (document.ExemptionPage, error) {
	out := []document.Exemption{}
	for _, e := range x.Records.Exemptions.Values() {
		state, until := e.State(x.Now().Unix())
		d := document.Exemption{ID: e.ID, State: string(state), Until: until, Select: e.Select, Targets: len(e.Targets),
			By: e.By, Reason: e.Reason, At: e.At, Seconds: e.Seconds, Need: assign.ExemptionApprovals,
			Approvals: []document.Consent{}}
		for _, a := range e.Approvals {
			d.Approvals = append(d.Approvals, document.Consent(a))
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b document.Exemption) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID))
	})
	return document.ExemptionPage{Format: document.ExemptionPageFormat, Exemptions: out}, nil
}

// RequestExemption stores a request. It removes exemptions that ended long ago.
func (x Exemptions) RequestExemption(ctx context.Context, by access.Principal, r document.ExemptionRequest,
	targets []fleet.TargetID) (string, error) {
	now, open := x.Now().Unix(), 0
	for _, e := range x.Records.Exemptions.Values() {
		state, until := e.State(now)
		switch {
		case state != assign.ExemptionEnded:
			open++
		case now-until > int64(keptExemptions/time.Second):
			if err := x.Records.Exemptions.Remove(ctx, e.ID); err != nil {
				return "", err
			}
		}
	}
	if open >= maxExemptions {
		return "", &api.Refusal{Status: api.Conflict,
			Why:  fmt.Sprintf("cannot request another exemption: %d wait or are in force", open),
			Hint: "End one: fettle exemption list, then fettle exemption end ID"}
	}
	e := assign.Exemption{ID: "e" + records.NewID()[:6], Targets: targets, Select: r.Select, By: by.Name, Reason: r.Reason,
		At: now, Seconds: r.Seconds}
	if err := x.Records.Exemptions.Put(ctx, e.ID, e, 0); err != nil {
		return "", err
	}
	x.note(ctx, by, fmt.Sprintf("exemption %s from windows requested for %s: %s", e.ID, e.Scope(), e.Reason))
	return e.ID, nil
}

// ApproveExemption stores the approval of a user. Repeating it changes nothing.
func (x Exemptions) ApproveExemption(ctx context.Context, by api.Caller, at route.ExemptionID,
	r document.ReasonRequest) (document.Done, error) {
	text, err := x.approve(ctx, by.Principal, at.Exemption, r)
	return api.Done(err, "%s", text)
}

func (x Exemptions) approve(ctx context.Context, by access.Principal, id string,
	r document.ReasonRequest) (string, error) {
	e, rev, err := x.open(id)
	if err != nil {
		return "", err
	}
	now := x.Now().Unix()
	next, ok := e.ApprovedBy(by.Name, now)
	if !ok {
		return "You have approved it before. It needs the approval of another user.", nil
	}
	if err := x.Records.Exemptions.Put(ctx, id, next, rev); err != nil {
		return "", err
	}
	x.note(ctx, by, fmt.Sprintf("exemption %s approved%s", id, prefixed(": ", r.Reason)))
	if state, until := next.State(now); state == assign.ExemptionInForce {
		return fmt.Sprintf("Until %s, %s may change outside of their windows.",
			time.Unix(until, 0).UTC().Format("2006-01-02 15:04 MST"), e.Scope()), nil
	}
	return "It needs the approval of another user.", nil
}

// EndExemption ends an exemption at once, or rejects the request.
func (x Exemptions) EndExemption(ctx context.Context, by api.Caller, at route.ExemptionID,
	r document.ReasonRequest) error {
	if _, _, err := x.open(at.Exemption); err != nil {
		return err
	}
	if err := x.Records.Exemptions.Remove(ctx, at.Exemption); err != nil {
		return err
	}
	x.note(ctx, by.Principal, fmt.Sprintf("exemption %s ended%s", at.Exemption, prefixed(": ", r.Reason)))
	return nil
}

// open returns an exemption that has not ended.
func (x Exemptions) open(id string) (assign.Exemption, uint64, error) {
	e, rev, known := x.Records.Exemptions.Get(id)
	var others []string
	for _, o := range x.Records.Exemptions.Values() {
		others = append(others, o.ID)
	}
	switch state, _ := e.State(x.Now().Unix()); {
	case !known:
		hint := "List them: fettle exemption list"
		if near := diag.Nearest(id, others, 3); near != "" {
			hint = "Did you mean: " + near
		}
		return e, 0, &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the exemption %.40q", id), Hint: hint}
	case state == assign.ExemptionEnded:
		return e, 0, &api.Refusal{Status: api.Conflict, Why: fmt.Sprintf("the exemption %s has ended", id),
			Hint: "Request another one: fettle exemption request --help"}
	}
	return e, rev, nil
}

func (x Exemptions) note(ctx context.Context, by access.Principal, text string) {
	x.Events.Note(ctx, fleet.HubEvent{Kind: fleet.RolloutChanged, By: by.Name, Text: text})
}
