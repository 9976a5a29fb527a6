package api

import (
	"context"
	"errors"
	"net/http"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/route"
)

// Rollouts are the stored rollouts. The caller sets the formats.
type Rollouts interface {
	// Rollouts returns all rollouts, the newest first.
	Rollouts(ctx context.Context) ([]document.Rollout, error)
	// Rollout returns one rollout and its targets. An unknown ID causes rollout.ErrNoRollout.
	Rollout(ctx context.Context, id string) (document.RolloutDetail, error)
	// OrderRollout stores a command. A command that has no meaning now causes a *rollout.CommandError.
	OrderRollout(ctx context.Context, c rollout.Command) error
}

// HandleRollouts registers the handlers of rollouts.
func HandleRollouts(t *Table, b Rollouts) {
	Handle(t, route.Rollouts(), func(ctx context.Context, _ Caller, _, _ route.None) (document.RolloutPage, error) {
		all, err := b.Rollouts(ctx)
		return document.RolloutPage{Format: document.RolloutPageFormat, Rollouts: append([]document.Rollout{}, all...)}, err
	})
	Handle(t, route.Rollout(),
		func(ctx context.Context, _ Caller, at route.RolloutID, _ route.None) (document.RolloutDetail, error) {
			d, err := b.Rollout(ctx, at.Rollout)
			d.Format = document.RolloutFormat
			return d, refusedOrder(err)
		})
	Handle(t, route.OrderRollout(),
		func(ctx context.Context, c Caller, at route.RolloutID, r document.RolloutRequest) (document.Done, error) {
			order := rollout.Command{Action: rollout.Action(r.Action), Rollout: at.Rollout, By: c.Name, Why: r.Reason}
			if order.Action.OfGate() {
				return document.Done{}, &Refusal{BadRequest, "this action needs the right of its own route",
					"Run: fettle rollout approve, reject or verdict"}
			}
			if r.Target != "" {
				d, err := t.targets.Target(ctx, r.Target, c.Now)
				if err != nil {
					return document.Done{}, err
				}
				order.Target = d.Target.ID
			}
			return Done(refusedOrder(b.OrderRollout(ctx, order)), "%s", orderText(order))
		})
	handleGates(t, b)
}

// handleGates registers the handlers of gates.
func handleGates(t *Table, b Rollouts) {
	Handle(t, route.ApproveRollout(),
		func(ctx context.Context, c Caller, at route.RolloutID, r document.GateApprovalRequest) (document.Done, error) {
			order := rollout.Command{Action: rollout.ToApprove, Rollout: at.Rollout, Gate: r.Gate, By: c.Name, Why: r.Reason,
				Groups: c.Groups()}
			if r.Reject {
				order.Action = rollout.ToReject
			}
			return Done(refusedOrder(b.OrderRollout(ctx, order)), "%s", orderText(order))
		})
	Handle(t, route.JudgeRollout(),
		func(ctx context.Context, c Caller, at route.RolloutID, r document.VerdictRequest) (document.Done, error) {
			order := rollout.Command{Action: rollout.ToJudge, Rollout: at.Rollout, Gate: r.Gate, By: c.Name, Why: r.Reason,
				Verdict: rollout.Verdict(r.Verdict)}
			return Done(refusedOrder(b.OrderRollout(ctx, order)), "%s", orderText(order))
		})
}

// refusedOrder makes an error of a command an answer for its user.
func refusedOrder(err error) error {
	var refused *rollout.CommandError
	switch {
	case errors.Is(err, rollout.ErrNoRollout):
		return &Refusal{http.StatusNotFound, err.Error(), "See all rollouts: fettle rollout list"}
	case errors.As(err, &refused):
		return &Refusal{http.StatusConflict, err.Error(), "See its state: fettle rollout show " + refused.Rollout}
	}
	return err
}

// orderText is the answer to a command.
func orderText(c rollout.Command) string {
	id := "The rollout " + c.Rollout
	return map[rollout.Action]string{
		rollout.ToPause:    id + " is paused: no further target gets the change.",
		rollout.ToResume:   id + " continues. The failures so far are accepted.",
		rollout.ToAbort:    id + " is aborted. Targets that have the change keep it.",
		rollout.ToRollback: id + " is being rolled back: all targets that have the change return to their previous content.",
		rollout.ToPromote:  "The bake time of the wave has ended.",
		rollout.ToSkip:     "The target does not get the change.",
		rollout.ToRetry:    "The target gets the change again, as soon as the limits allow it.",
		rollout.ToApprove:  "Your approval of the rollout " + c.Rollout + " counts for its current wave.",
		rollout.ToReject:   id + " is rejected. It stops, as its strategy orders.",
		rollout.ToJudge:    "The verdict counts for the current wave of the rollout " + c.Rollout + ".",
		rollout.ToRelease:  "The content may be rolled out again.",
	}[c.Action]
}
