package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/view"
)

// recording is a backend that records its calls with all arguments.
type recording struct {
	apitest.Backend
	told   *[]string
	frozen *document.FleetFreeze
	health document.Health
}

func (r recording) note(by access.Principal, what string, args ...any) error {
	text, err := json.Marshal(args)
	if err != nil {
		return err
	}
	*r.told = append(*r.told, fmt.Sprintf("%s %s %s", by.Name, what, text))
	return nil
}

func (r recording) Health(context.Context) document.Health { return r.health }

func (r recording) Check(context.Context) document.HubCheck { return document.HubCheck{} }

func (r recording) FrozenAll(context.Context) (*document.FleetFreeze, error) { return r.frozen, nil }

func (r recording) Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error) {
	if q.All || q.Offset > 0 {
		_ = r.note(access.Principal{}, "targets", q.All, q.Sort, q.Offset, q.Limit, q.Now.Format(time.DateOnly))
	}
	return r.Backend.Targets(ctx, q)
}

func (r recording) Module(ctx context.Context, q view.ModuleQuery) (document.ModuleDetail, error) {
	_ = r.note(access.Principal{}, "module", q.Module, q.Offset, q.Limit, q.Now.Format(time.DateOnly))
	return r.Backend.Module(ctx, q)
}

func (r recording) Events(_ context.Context, q view.EventQuery) (document.EventPage, error) {
	return document.EventPage{Format: document.EventPageFormat, Events: []document.Event{}},
		r.note(access.Principal{}, "events", q.Target, q.Module, q.Kinds, q.Since, q.Until, q.After, q.Limit)
}

func (r recording) Retire(_ context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return r.note(by, "retire", id, reason)
}

func (r recording) Revoke(_ context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return r.note(by, "revoke", id, reason)
}

func (r recording) SetLabels(_ context.Context, by access.Principal, id fleet.TargetID, l document.LabelRequest) error {
	return r.note(by, "label", id, l.Set, l.Remove)
}

func (r recording) Move(_ context.Context, by access.Principal, id fleet.TargetID, to fleet.Organization,
	reason string) error {
	return r.note(by, "move", id, to, reason)
}

func (r recording) Pin(_ context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error {
	return r.note(by, "pin", id, p.Module, p.Ref, p.By, p.Reason, p.Permit, p.Until)
}

func (r recording) Unpin(_ context.Context, by access.Principal, id fleet.TargetID, module string) error {
	return r.note(by, "unpin", id, module)
}

func (r recording) Freeze(_ context.Context, by access.Principal, id fleet.TargetID, f document.FreezeRequest) error {
	return r.note(by, "freeze", id, f.Reason, f.For)
}

func (r recording) Unfreeze(_ context.Context, by access.Principal, id fleet.TargetID) error {
	return r.note(by, "unfreeze", id)
}

func (r recording) FreezeAll(_ context.Context, by access.Principal, f document.FreezeRequest) error {
	return r.note(by, "freeze all", f.Reason, f.For)
}

func (r recording) UnfreezeAll(_ context.Context, by access.Principal) error {
	return r.note(by, "unfreeze all")
}

func (r recording) Suspect(_ context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return r.note(by, "suspect", id, reason)
}

func (r recording) Trust(_ context.Context, by access.Principal, id fleet.TargetID, reason string) error {
	return r.note(by, "trust", id, reason)
}

func (r recording) DecideRequest(_ context.Context, by access.Principal, id fleet.TargetID, what fleet.RequestKind,
	name string, refuse bool, reason string) error {
	return r.note(by, "decide", id, what, name, refuse, reason)
}

func (r recording) SetBinary(_ context.Context, by access.Principal, q document.BinaryRequest,
	ids []fleet.TargetID) error {
	return r.note(by, "program", q.Binary.Version, len(ids))
}
