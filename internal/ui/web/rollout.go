package web

import (
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/web/plot"
)

// rolloutsPage lists the rollouts.
func rolloutsPage(v *visit) (*page, error) {
	all, err := get(v, route.Rollouts(), route.None{})
	if err != nil {
		return nil, err
	}
	return &page{Title: "Rollouts", Tab: "/rollouts", Template: "rollouts", Data: all, Command: "fettle rollout list",
		Address: address(route.Rollouts(), route.None{})}, nil
}

// rolloutData is the data of the page of a rollout.
type rolloutData struct {
	document.RolloutDetail
	Orders []order
	// Approvals are the gates of the current wave that wait for an approval of this user.
	Approvals []string
	// Plot is nil if the numbers over time are not known.
	Plot *plot.Course
}

// order is a command to a rollout that is possible now.
type order struct{ Action, Does string }

// rolloutPage shows a rollout: its waves, gates and targets.
func rolloutPage(v *visit) (*page, error) {
	at := route.RolloutID{Rollout: v.PathValue("rollout")}
	r, err := get(v, route.Rollout(), at)
	if err != nil {
		return nil, err
	}
	d := rolloutData{RolloutDetail: r, Plot: coursePlot(r, v.now)}
	if v.May(access.Operate) {
		d.Orders = ordersOf(r.Rollout)
	}
	if v.May(access.Approve) {
		d.Approvals = approvalsOf(r.Rollout, v.user.Name)
	}
	return &page{Title: "Rollout " + r.Rollout.ID, Tab: "/rollouts", Template: "rollout", Data: d,
		Command: commandOf("fettle", "rollout", "show", r.Rollout.ID), Address: address(route.Rollout(), at)}, nil
}

// coursePlot draws the numbers of targets until the end of a rollout, or until now.
func coursePlot(r document.RolloutDetail, now time.Time) *plot.Course {
	until := int64(0)
	if slices.Contains([]string{"active", "paused", "rolling-back"}, r.Rollout.Phase) {
		until = now.Unix()
	}
	return plot.NewCourse(r.Course, until)
}

// ordersOf returns the commands that a rollout accepts in its phase.
func ordersOf(r document.Rollout) (out []order) {
	switch r.Phase {
	case "active":
		out = []order{{"pause", "No further target gets the change."},
			{"promote", "End the bake time of the current wave."}}
	case "paused":
		out = []order{{"resume", "Continue. Failures up to now count as accepted."}}
	}
	switch r.Phase {
	case "active", "paused":
		out = append(out, order{"rollback", "All targets that have the change return to their previous content."},
			order{"abort", "End the rollout. Targets keep their present content."})
	case "rolling-back":
		out = append(out, order{"abort", "End the rollback. Targets keep their present content."})
	}
	if r.Held {
		out = append(out, order{"release", "Permit the held content. It is rolled out again from the first wave."})
	}
	return out
}

// approvalsOf returns the approval gates of the current wave that a user has not approved.
func approvalsOf(r document.Rollout, user string) (out []string) {
	if r.Wave >= len(r.Waves) || r.Phase != "active" && r.Phase != "paused" {
		return nil
	}
	for _, g := range r.Gates {
		done := slices.ContainsFunc(g.Approvals, func(a document.GateApproval) bool { return a.By == user })
		if g.Type == "approval" && g.Wave == r.Waves[r.Wave].Name && g.State != "passed" && !done {
			out = append(out, g.Name)
		}
	}
	return out
}
