package hub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/notify"
)

// maxRules limits the number of notification rules.
const maxRules = 100

// Notifications returns the rules, sorted by name, with the state of their notices.
func (h *Hub) Notifications(context.Context) ([]document.NotificationState, error) {
	out := []document.NotificationState{}
	for _, r := range h.notifications.values() {
		s, _, _ := h.notices.get(r.Name)
		d := document.NotificationState{Rule: r, Holds: len(s.Conditions), Sent: s.Delivered, Last: s.LastNotice,
			Lost: s.Lost, Waiting: []document.WaitingNotice{}}
		for _, n := range s.Notices {
			d.Error = cmp.Or(d.Error, n.Error)
			d.Waiting = append(d.Waiting, document.WaitingNotice{ID: n.ID, At: n.At, Subject: notify.Compose(h.set.Fleet, r, n).Subject, Tries: n.Tries, Error: n.Error, Approve: n.Waits && n.Approved == ""})
		}
		out = append(out, d)
	}
	return out, nil
}

// SetNotification creates a rule, or replaces the rule of that name. It does not repeat notices
// that were sent already.
func (h *Hub) SetNotification(ctx context.Context, by access.Principal, r document.Notification) error {
	r.By, r.Changed = by.Name, h.now().UnixNano()
	if err := notify.Check(r); err != nil {
		return &api.Refusal{Status: http.StatusBadRequest, Why: err.Error(), Hint: "See: fettle notify set --help"}
	}
	_, rev, there := h.notifications.get(r.Name)
	if all := h.notifications.values(); !there && len(all) >= maxRules {
		return &api.Refusal{Status: http.StatusConflict, Why: fmt.Sprintf("cannot have more than %d rules", maxRules), Hint: "Remove one: fettle notify delete NAME"}
	}
	return h.notifications.put(ctx, r.Name, r, rev)
}

func (h *Hub) rule(name string) (document.Notification, error) {
	r, _, ok := h.notifications.get(name)
	if !ok {
		return r, &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the rule %.64q", name),
			Hint: "List the rules: fettle notify list"}
	}
	return r, nil
}

// RemoveNotification removes a rule and its notices that are not sent yet.
func (h *Hub) RemoveNotification(ctx context.Context, _ access.Principal, name string) error {
	if _, err := h.rule(name); err != nil {
		return err
	}
	return errors.Join(h.notifications.remove(ctx, name), h.notices.remove(ctx, name))
}

// TestNotification sends an example by a rule and returns the error of the delivery.
func (h *Hub) TestNotification(ctx context.Context, _ access.Principal, name string) error {
	r, err := h.rule(name)
	if err != nil {
		return err
	}
	if err := h.sender().Send(ctx, r, notify.Compose(h.set.Fleet, r, notify.Example(r, newID(), h.now().UnixNano()))); err != nil {
		return &api.Refusal{Status: http.StatusConflict, Why: err.Error(),
			Hint: "The directory for files and programs of rules is " + h.dir(notifyDir)}
	}
	return nil
}

// DecideNotice approves or discards a notice that waits for a decision.
func (h *Hub) DecideNotice(ctx context.Context, by access.Principal, id string, deny bool) error {
	for _, r := range h.notifications.values() {
		s, _, _ := h.notices.get(r.Name)
		if _, ok := s.Approve(id, by.Name, deny); !ok {
			continue
		}
		_, err := h.notices.change(ctx, r.Name, func(s *notify.State) error {
			*s, _ = s.Approve(id, by.Name, deny)
			return nil
		})
		return err
	}
	return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the notice %.40q, or it does not wait for a decision", id),
		Hint: "List the rules and their waiting notices: fettle notify list"}
}

// Alarms returns the last alarms of the leader, and the alarms that this hub detects itself.
func (h *Hub) Alarms(context.Context) ([]document.Alarm, error) {
	out := []document.Alarm{}
	for _, a := range h.alarmsNow() {
		d := document.Alarm{Kind: string(a.Kind), Text: a.Text, Module: a.Module, Targets: []string{}, Count: a.Count, Digest: a.Digest}
		for _, id := range a.Targets {
			t, _, _ := h.targets.get(string(id))
			d.Targets = append(d.Targets, cmp.Or(t.Name, string(id)))
		}
		out = append(out, d)
	}
	return out, nil
}

// ApproveAlarm approves the change that an alarm blocks.
func (h *Hub) ApproveAlarm(ctx context.Context, by access.Principal, digest string) error {
	found := slices.ContainsFunc(h.alarmsNow(), func(a assign.Alarm) bool { return a.Digest == digest && digest != "" })
	if !found {
		return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find an alarm with the digest %.80q that waits for approval", digest),
			Hint: "List the alarms: fettle alarm list"}
	}
	key := strings.TrimPrefix(digest, "sha256:")
	_, rev, _ := h.approvals.get(key)
	if err := h.record(ctx, fleet.HubEvent{Kind: fleet.Approved, By: by.Name,
		Text: "the blocked change with the digest " + digest}); err != nil {
		return err
	}
	return h.approvals.put(ctx, key, assign.Approval{Digest: digest, By: by.Name, At: h.now().Unix()}, rev)
}
