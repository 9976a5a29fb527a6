package notices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/route"
)

// maxRules limits the number of notification rules.
const maxRules = 100

// HandleRoutes registers the handlers of alarms, of rules, and of notices that rules cause.
func (n *Notifier) HandleRoutes(t *api.Table) {
	api.HandleGet(t, route.Alarms(), n.Alarms)
	api.HandleDone(t, route.ApproveAlarm(), "The change is approved for a day.", n.ApproveAlarm)
	api.HandleGet(t, route.Notifications(), n.Notifications)
	api.HandlePost(t, route.SetNotification(), n.SetNotification)
	api.HandleDone(t, route.RemoveNotification(), "Deleted the rule {rule}.", n.RemoveNotification)
	api.HandleDone(t, route.TestNotification(), "A test notice was sent through the rule {rule}, and was accepted.",
		n.TestNotification)
	api.HandleDone(t, route.ApproveNotice(), "The notice {notice} is approved.", n.ApproveNotice)
	api.HandleDone(t, route.RejectNotice(), "The notice {notice} is rejected.", n.RejectNotice)
}

// Notifications returns the rules, sorted by name, with the state of their notices.
func (n *Notifier) Notifications(context.Context) (document.NotificationPage, error) {
	out := document.NotificationPage{Format: document.NotificationPageFormat,
		Notifications: []document.NotificationState{}}
	for _, r := range n.Records.Notifications.Values() {
		s, _, _ := n.Records.Notices.Get(r.Name)
		d := document.NotificationState{Rule: r, Holds: len(s.Conditions), Sent: s.Delivered, Last: s.LastNotice,
			Lost:    s.Lost,
			Waiting: []document.WaitingNotice{}}
		for _, notice := range s.Notices {
			d.Error = cmp.Or(d.Error, notice.Error)
			d.Waiting = append(d.Waiting, document.WaitingNotice{ID: notice.ID, At: notice.At,
				Subject: notify.Compose(n.Fleet, r, notice).Subject, Tries: notice.Tries, Error: notice.Error,
				Approve: notice.Waits && notice.Approved == ""})
		}
		out.Notifications = append(out.Notifications, d)
	}
	return out, nil
}

// SetNotification creates a rule, or replaces the rule of that name. It does not repeat notices
// that were sent already.
func (n *Notifier) SetNotification(ctx context.Context, by api.Caller,
	r document.Notification) (document.Done, error) {
	return api.Done(n.setRule(ctx, by.Name, r), "Saved the rule %s.", r.Name)
}

func (n *Notifier) setRule(ctx context.Context, by string, r document.Notification) error {
	r.By, r.Changed = by, n.Now().UnixNano()
	if err := notify.Check(r); err != nil {
		return &api.Refusal{Status: api.BadRequest, Why: err.Error(), Hint: "See: fettle notify set --help"}
	}
	_, rev, there := n.Records.Notifications.Get(r.Name)
	if all := n.Records.Notifications.Values(); !there && len(all) >= maxRules {
		return &api.Refusal{Status: api.Conflict, Why: fmt.Sprintf("cannot have more than %d rules", maxRules),
			Hint: "Remove one: fettle notify delete NAME"}
	}
	return n.Records.Notifications.Put(ctx, r.Name, r, rev)
}

func (n *Notifier) rule(name string) (document.Notification, error) {
	r, _, ok := n.Records.Notifications.Get(name)
	if !ok {
		return r, &api.Refusal{Status: api.NotFound, Why: fmt.Sprintf("cannot find the rule %.64q", name),
			Hint: "List the rules: fettle notify list"}
	}
	return r, nil
}

// RemoveNotification removes a rule and its notices that are not sent yet.
func (n *Notifier) RemoveNotification(ctx context.Context, _ api.Caller, at route.RuleName,
	_ document.ReasonRequest) error {
	if _, err := n.rule(at.Rule); err != nil {
		return err
	}
	return errors.Join(n.Records.Notifications.Remove(ctx, at.Rule), n.Records.Notices.Remove(ctx, at.Rule))
}

// TestNotification sends an example by a rule and returns the error of the delivery.
func (n *Notifier) TestNotification(ctx context.Context, _ api.Caller, at route.RuleName,
	_ document.ReasonRequest) error {
	r, err := n.rule(at.Rule)
	if err != nil {
		return err
	}
	if err := n.sender().Send(ctx, r, notify.Compose(n.Fleet, r,
		notify.Example(r, records.NewID(), n.Now().UnixNano()))); err != nil {
		return &api.Refusal{Status: api.Conflict, Why: err.Error(),
			Hint: "The directory for files and programs of rules is " + path.Join(n.Dir, Directory)}
	}
	return nil
}

// ApproveNotice approves a notice that waits for a decision.
func (n *Notifier) ApproveNotice(ctx context.Context, by api.Caller, at route.NoticeID,
	_ document.ReasonRequest) error {
	return n.decideNotice(ctx, by.Name, at.Notice, false)
}

// RejectNotice discards a notice that waits for a decision.
func (n *Notifier) RejectNotice(ctx context.Context, by api.Caller, at route.NoticeID, _ document.ReasonRequest) error {
	return n.decideNotice(ctx, by.Name, at.Notice, true)
}

func (n *Notifier) decideNotice(ctx context.Context, by, id string, deny bool) error {
	for _, r := range n.Records.Notifications.Values() {
		s, _, _ := n.Records.Notices.Get(r.Name)
		if _, ok := s.Approve(id, by, deny); !ok {
			continue
		}
		_, err := n.Records.Notices.Change(ctx, r.Name, func(s *notify.State) error {
			*s, _ = s.Approve(id, by, deny)
			return nil
		})
		return err
	}
	return &api.Refusal{Status: api.NotFound,
		Why:  fmt.Sprintf("cannot find the notice %.40q, or it does not wait for a decision", id),
		Hint: "List the rules and their waiting notices: fettle notify list"}
}

// alarmsWithin returns the alarms that a request with a boundary may show.
func alarmsWithin(all []assign.Alarm, b fleet.Boundary) []assign.Alarm {
	if b.All() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(a assign.Alarm) bool {
		return !a.OfTargets || b.Limited || !b.Organization.Contains(a.Organization)
	})
}

// Alarms returns the last alarms of the leader, and the alarms that this hub detects itself. Users of an organization
// get the alarms that contain only data of its targets.
func (n *Notifier) Alarms(ctx context.Context) (document.AlarmPage, error) {
	out := document.AlarmPage{Format: document.AlarmPageFormat, Alarms: []document.Alarm{}}
	for _, a := range alarmsWithin(n.AlarmsNow(), fleet.BoundaryOf(ctx)) {
		d := document.Alarm{Kind: string(a.Kind), Text: a.Text, Module: a.Module, Targets: []string{}, Count: a.Count,
			Digest: a.Digest, Held: a.Held, Organization: string(a.Organization)}
		for _, id := range a.Targets {
			t, _, _ := n.Records.Targets.Get(string(id))
			d.Targets = append(d.Targets, cmp.Or(t.Name, string(id)))
		}
		out.Alarms = append(out.Alarms, d)
	}
	return out, nil
}

// ApproveAlarm approves the change that an alarm blocks.
func (n *Notifier) ApproveAlarm(ctx context.Context, by api.Caller, _ route.None, r document.ApprovalRequest) error {
	digest := r.Digest
	found := slices.ContainsFunc(n.AlarmsNow(), func(a assign.Alarm) bool { return a.Digest == digest && digest != "" })
	if !found {
		return &api.Refusal{Status: api.NotFound,
			Why:  fmt.Sprintf("cannot find an alarm with the digest %.80q that waits for approval", digest),
			Hint: "List the alarms: fettle alarm list"}
	}
	key := strings.TrimPrefix(digest, "sha256:")
	_, rev, _ := n.Records.Approvals.Get(key)
	if err := n.Events.Record(ctx, fleet.HubEvent{Kind: fleet.Approved, By: by.Name,
		Text: "the blocked change with the digest " + digest}); err != nil {
		return err
	}
	return n.Records.Approvals.Put(ctx, key, assign.Approval{Digest: digest, By: by.Name, At: n.Now().Unix()}, rev)
}
