package apitest

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/notify"
)

// Alarms returns one alarm, until ApproveAlarm gets its digest.
func (h *Hub) Alarms(context.Context) ([]document.Alarm, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.approved, "sha256:aa") {
		return nil, nil
	}
	return []document.Alarm{{Kind: "mass_removal", Module: "modules/web",
		Text: "modules/web would be removed from 2 of 2 targets, so they keep their assignments. To approve this, run: fettle alarm approve sha256:aa", Targets: []string{"web1", "web2"}, Count: 2, Digest: "sha256:aa"}}, nil
}

// ApproveAlarm accepts any digest.
func (h *Hub) ApproveAlarm(_ context.Context, _ access.Principal, digest string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.approved = append(h.approved, digest)
	return nil
}

// Notifications returns the rules. Each rule with a program has the waiting notice n1.
func (h *Hub) Notifications(context.Context) ([]document.NotificationState, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []document.NotificationState{}
	for _, r := range h.rules {
		s := document.NotificationState{Rule: r, Holds: 1, Sent: 3, Last: Now().UnixNano(),
			Waiting: []document.WaitingNotice{}}
		if r.Command != nil && !slices.Contains(h.decided, "n1") {
			s.Waiting = append(s.Waiting, document.WaitingNotice{ID: "n1", At: Now().UnixNano(), Subject: "acme: 1 failed",
				Approve: r.Command.Approve})
		}
		out = append(out, s)
	}
	return out, nil
}

// SetNotification checks and stores a rule.
func (h *Hub) SetNotification(_ context.Context, by access.Principal, r document.Notification) error {
	if err := notify.Check(r); err != nil {
		return &api.Refusal{Status: http.StatusBadRequest, Why: err.Error(), Hint: "See: fettle notify set --help"}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	r.By = by.Name
	h.rules = append(slices.DeleteFunc(h.rules, func(o document.Notification) bool { return o.Name == r.Name }), r)
	return nil
}

func (h *Hub) known(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.rules, func(r document.Notification) bool { return r.Name == name }) {
		return fmt.Errorf("cannot find the rule %q: %w", name, fleet.ErrNotFound)
	}
	return nil
}

// RemoveNotification removes a rule.
func (h *Hub) RemoveNotification(_ context.Context, _ access.Principal, name string) error {
	if err := h.known(name); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = slices.DeleteFunc(h.rules, func(r document.Notification) bool { return r.Name == name })
	return nil
}

// TestNotification sends nothing.
func (h *Hub) TestNotification(_ context.Context, _ access.Principal, name string) error {
	return h.known(name)
}

// DecideNotice stores the ID of the notice.
func (h *Hub) DecideNotice(_ context.Context, _ access.Principal, id string, _ bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decided = append(h.decided, id)
	return nil
}
