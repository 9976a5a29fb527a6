package notices

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/locks"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/hub/waits"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/view"
)

// Directory is the subdirectory for secrets and programs of notification rules.
const Directory = "notify"

// notifyEvery is the time between two evaluations of the rules by the leader. A new leader ends no
// condition within blindFor, because its read model may be outdated. For conditions that depend on
// contact with an agent, it waits for deafFor.
const (
	notifyEvery = 5 * time.Second
	blindFor    = time.Minute
	deafFor     = view.DefaultSilence + blindFor
)

func (n *Notifier) sender() *notify.Sender {
	return &notify.Sender{Files: n.Files, Dir: path.Join(n.Dir, Directory), Run: n.Binary}
}

// Run evaluates the rules and sends notices until ctx ends. It runs only on the leader.
func (n *Notifier) Run(ctx context.Context) error {
	began := n.Now()
	for {
		g, gctx := errgroup.WithContext(ctx)
		for _, r := range n.Records.Notifications.Values() {
			g.Go(func() error {
				if err := n.notifyRule(gctx, r, blind(n.Now().Sub(began))); err != nil && ctx.Err() == nil {
					n.Warn(fmt.Sprintf("cannot notify by the rule %s: %v", r.Name, err))
				}
				return nil
			})
		}
		_ = g.Wait() // no function returns an error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(notifyEvery):
		}
	}
}

// blind returns the conditions that a hub must not end yet, after it has led for the time led.
func blind(led time.Duration) map[string]bool {
	out := map[string]bool{}
	for _, s := range notify.States() {
		if led < blindFor || led < deafFor && (s == document.Unresponsive || s == document.Unknown) {
			out[string(s)] = true
		}
	}
	return out
}

// notifyRule evaluates one rule, stores its state, and sends the due notices. After an interruption
// a notice is sent again with the same ID: it may arrive twice, but is not lost.
func (n *Notifier) notifyRule(ctx context.Context, r document.Notification, blind map[string]bool) error {
	s, rev, _ := n.Records.Notices.Get(r.Name)
	seen, err := n.seen(ctx, r, s.Cursor, blind)
	if err != nil {
		return err
	}
	next, changed := s.Fold(r, seen)
	if changed {
		err := n.Records.Notices.Put(ctx, r.Name, next, rev)
		if errors.Is(err, fleet.ErrConflict) {
			return nil // a user decided about a notice meanwhile: the next round evaluates again
		}
		if err != nil {
			return err
		}
		n.noteNotices(ctx, r, s, next)
	}
	for due := next.Due(n.Now().UnixNano()); due != nil; due = next.Due(n.Now().UnixNano()) {
		sent := n.sender().Send(ctx, r, notify.Compose(n.Fleet, r, *due))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next, err = n.Records.Notices.Change(ctx, r.Name, func(s *notify.State) error {
			*s = s.Sent(due.ID, sent, n.Now().UnixNano())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noteNotices records lost notices, and notices that wait for approval, in the event log.
func (n *Notifier) noteNotices(ctx context.Context, r document.Notification, was, is notify.State) {
	if is.Lost > was.Lost {
		n.Events.Note(ctx, fleet.HubEvent{Kind: fleet.NoticeUndelivered, Text: "rule " + r.Name,
			Error: fmt.Sprintf("%d notices were lost: they could not be delivered for a day", is.Lost-was.Lost)})
	}
	for _, notice := range is.Notices[max(0, len(is.Notices)-int(min(is.Number-was.Number, 1))):] {
		if notice.Waits {
			n.Events.Note(ctx, fleet.HubEvent{Kind: fleet.JobChanged,
				Text: fmt.Sprintf(
					"a notice of the rule %s waits for a decision: fettle notify approve %s, or fettle notify reject %s",
					r.Name, notice.ID, notice.ID)})
		}
	}
}

// seen returns the present conditions and the new events for a rule.
func (n *Notifier) seen(ctx context.Context, r document.Notification, cursor string,
	blind map[string]bool) (notify.Observation, error) {
	seen := notify.Observation{Now: n.Now().UnixNano(), Unobservable: blind, Cursor: cursor}
	chosen, err := n.chosen(ctx, r)
	if err != nil {
		return seen, err
	}
	for _, t := range chosen {
		if t.Standing == fleet.Active && notify.SelectsCondition(r, string(t.State)) {
			seen.Conditions = append(seen.Conditions, ofTarget(t))
		}
	}
	has := func(id fleet.TargetID) bool { return chosen[id].ID != "" }
	for _, a := range n.AlarmsNow() {
		if notify.SelectsCondition(r, string(a.Kind)) && (len(r.Select) == 0 || slices.ContainsFunc(a.Targets, has)) {
			seen.Conditions = append(seen.Conditions, ofAlarm(a, seen.Now))
		}
	}
	if notify.SelectsCondition(r, notify.HubProblem) && len(r.Select) == 0 {
		for _, c := range n.Health(ctx).Checks {
			if c.Error != "" {
				seen.Conditions = append(seen.Conditions, notify.Item{Key: "hub/" + n.Hub + "/" + c.Name,
					NoticeItem: document.NoticeItem{Kind: notify.HubProblem, Name: n.Hub, Text: c.Name + ": " + c.Error,
						At: seen.Now}})
			}
		}
	}
	return seen, n.seenEvents(ctx, r, has, &seen)
}

// chosen returns the targets in the selection of a rule, also removed ones, by ID. A rule without a
// selection and without states needs none of them.
func (n *Notifier) chosen(ctx context.Context, r document.Notification) (map[fleet.TargetID]document.Target, error) {
	out := map[fleet.TargetID]document.Target{}
	if len(r.Select) == 0 && !slices.ContainsFunc(notify.States(),
		func(s document.State) bool { return notify.SelectsCondition(r, string(s)) }) {
		return out, nil
	}
	for offset := 0; ; offset += view.MaxPage {
		page, err := n.View.Targets(ctx, view.TargetQuery{Select: r.Select, All: true, Offset: offset, Now: n.Now()})
		if err != nil {
			return nil, err
		}
		for _, t := range page.Targets {
			out[t.ID] = t
		}
		if offset+view.MaxPage >= page.Total {
			return out, nil
		}
	}
}

func ofTarget(t document.Target) notify.Item {
	text := cmp.Or(t.Error, t.Waits)
	switch t.State {
	case document.Unresponsive:
		text = "no contact since " + time.Unix(0, t.Contact).UTC().Format("2006-01-02 15:04 MST")
	case document.Drifted:
		text = fmt.Sprintf("%d addresses differ from the applied state", t.Drift)
	}
	return notify.Item{Key: string(t.State) + "/" + string(t.ID),
		NoticeItem: document.NoticeItem{Kind: string(t.State), Target: t.ID, Name: t.Name, Text: text,
			At: cmp.Or(t.Changed, t.Contact)}}
}

// ofAlarm converts an alarm to a condition. The key omits digits, because numbers in the text of an
// alarm can change while it lasts.
func ofAlarm(a assign.Alarm, now int64) notify.Item {
	sum := sha256.Sum256([]byte(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, a.Text)))
	return notify.Item{Key: "alarm/" + string(a.Kind) + "/" + a.Module + "/" + hex.EncodeToString(sum[:8]),
		NoticeItem: document.NoticeItem{Kind: string(a.Kind), Module: a.Module, Text: a.Text, At: now}}
}

// seenEvents adds the events after the cursor. A new rule starts with the next event.
func (n *Notifier) seenEvents(ctx context.Context, r document.Notification, has func(fleet.TargetID) bool,
	seen *notify.Observation) error {
	var kinds []string
	for _, k := range notify.Events() {
		if slices.Contains(r.On, k) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	if seen.Cursor == "" {
		page, err := n.View.Events(ctx, view.EventQuery{Limit: 1})
		seen.Cursor = cmp.Or(page.Cursor, "0.0")
		return err
	}
	page, err := n.View.Events(ctx, view.EventQuery{After: seen.Cursor, Kinds: kinds, Limit: 1000})
	if err != nil {
		return err
	}
	seen.Cursor = cmp.Or(page.Cursor, seen.Cursor)
	for _, e := range page.Events {
		if len(r.Select) == 0 || has(e.Target) {
			seen.Events = append(seen.Events, notify.Item{Key: e.Cursor,
				NoticeItem: document.NoticeItem{Kind: e.Kind, Target: e.Target, Name: e.Name, Module: e.Module,
					Text: cmp.Or(e.Error, e.Text), At: e.At}})
		}
	}
	return nil
}

// AlarmsNow returns the last alarms of the leader, and the alarms that this hub detects itself.
func (n *Notifier) AlarmsNow() []assign.Alarm {
	all, _, _ := n.Records.Alarms.Get(records.AlarmsKey)
	return slices.Concat(n.HubAlarms(), n.incompatibleAlarms(), locks.Alarms(n.Records, n.Now()),
		waits.Alarms(n.Records, n.Now()), scopes.Alarms(n.Records), all)
}
