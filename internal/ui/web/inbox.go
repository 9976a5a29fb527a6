package web

import (
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// inboxData is all that waits for a user.
type inboxData struct {
	Alarms     []document.Alarm
	Pending    []document.Target // that wait for approval
	Requests   []document.Request
	Notices    []document.WaitingNotice
	Exemptions []document.Exemption
	Rollouts   []document.Rollout // that are paused, or wait for an approval
	Tasks      []document.ScopeTask
}

// Empty reports whether nothing waits.
func (d inboxData) Empty() bool {
	return len(d.Alarms)+len(d.Pending)+len(d.Requests)+len(d.Notices)+len(d.Exemptions)+len(d.Rollouts)+
		len(d.Tasks) == 0
}

// inboxPage shows what waits for a decision.
func inboxPage(v *visit) (*page, error) {
	var d inboxData
	alarms, err := get(v, route.Alarms(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Alarms = alarms.Alarms
	targets, err := get(v, route.Targets(), route.TargetQuery{State: string(document.NotInFleet)})
	if err != nil {
		return nil, err
	}
	for _, t := range targets.Targets {
		if t.Standing == fleet.Pending {
			d.Pending = append(d.Pending, t)
		}
	}
	requests, err := get(v, route.Requests(), route.None{})
	if err != nil {
		return nil, err
	}
	d.Requests = requests.Requests
	rules, err := get(v, route.Notifications(), route.None{})
	if err != nil {
		return nil, err
	}
	for _, r := range rules.Notifications {
		for _, n := range r.Waiting {
			if n.Approve {
				d.Notices = append(d.Notices, n)
			}
		}
	}
	exemptions, err := get(v, route.Exemptions(), route.None{})
	if err != nil {
		return nil, err
	}
	for _, e := range exemptions.Exemptions {
		if e.State == "waiting" {
			d.Exemptions = append(d.Exemptions, e)
		}
	}
	rollouts, err := get(v, route.Rollouts(), route.None{})
	if err != nil {
		return nil, err
	}
	for _, r := range rollouts.Rollouts {
		if r.Phase == "paused" || r.Phase == "active" && r.Waits != "" {
			d.Rollouts = append(d.Rollouts, r)
		}
	}
	if d.Tasks, err = undecided(v); err != nil {
		return nil, err
	}
	return &page{Title: "Inbox", Tab: "/inbox", Template: "inbox", Data: d, Command: "fettle alarm list",
		Address: address(route.Alarms(), route.None{})}, nil
}
