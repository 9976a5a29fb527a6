package web

import (
	"slices"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// inboxRows is the largest number of items that the inbox shows of each kind.
const inboxRows = 100

// inboxData is all that waits for a user.
type inboxData struct {
	Alarms     waiting[document.Alarm]
	Pending    waiting[document.Target] // that wait for approval
	Requests   waiting[document.Request]
	Notices    waiting[document.WaitingNotice]
	Exemptions waiting[document.Exemption]
	Rollouts   waiting[document.Rollout] // that are paused, or wait for an approval
	Tasks      waiting[document.ScopeTask]
}

// waiting is the first items of a kind that wait for a user, and the number of all.
type waiting[T any] struct {
	Items []T
	Total int
}

// newWaiting returns all items, or the first ones if they are many.
func newWaiting[T any](all []T) waiting[T] {
	return waiting[T]{all[:min(len(all), inboxRows)], len(all)}
}

// More reports whether items are not shown.
func (w waiting[T]) More() bool { return w.Total > len(w.Items) }

// Empty reports whether nothing waits.
func (d inboxData) Empty() bool {
	return d.Alarms.Total+d.Pending.Total+d.Requests.Total+d.Notices.Total+d.Exemptions.Total+d.Rollouts.Total+
		d.Tasks.Total == 0
}

// inboxPage shows what waits for a decision.
func inboxPage(v *visit) (*page, error) {
	var d inboxData
	alarms, err := get(v, route.Alarms(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Alarms = newWaiting(alarms.Alarms)
	targets, err := get(v, route.Targets(), route.TargetQuery{State: string(document.NotInFleet), Limit: inboxRows})
	if err != nil {
		return nil, err
	}
	d.Pending = waiting[document.Target]{targets.Targets, targets.Total}
	requests, err := get(v, route.Requests(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Requests = newWaiting(requests.Requests)
	rules, err := get(v, route.Notifications(), route.None{})
	if err != nil {
		return nil, err
	}
	var notices []document.WaitingNotice
	for _, r := range rules.Notifications {
		for _, n := range r.Waiting {
			if n.Approve {
				notices = append(notices, n)
			}
		}
	}
	d.Notices = newWaiting(notices)
	exemptions, err := get(v, route.Exemptions(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Exemptions = newWaiting(slices.DeleteFunc(exemptions.Exemptions, func(e document.Exemption) bool {
		return e.State != "waiting"
	}))
	rollouts, err := get(v, route.Rollouts(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Rollouts = newWaiting(slices.DeleteFunc(rollouts.Rollouts, func(r document.Rollout) bool {
		return r.Phase != "paused" && (r.Phase != "active" || r.Waits == "")
	}))
	tasks, err := undecided(v)
	if err != nil {
		return nil, err
	}
	d.Tasks = newWaiting(tasks)
	return &page{Title: "Inbox", Tab: "/inbox", Template: "inbox", Data: d, Command: "fettle alarm list",
		Address: address(route.Alarms(), route.None{})}, nil
}
