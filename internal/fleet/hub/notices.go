package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/notify"
	"fettle.dev/fettle/internal/fleet/view"
)

// notifyDir is where secrets and programs of rules are, in the hub's directory.
const notifyDir = "notify"

// How often a leader looks whether there is something to tell, and how long a new one does not
// believe what it does not see: its read model may be behind, and it has heard of nobody yet.
const (
	notifyEvery = 5 * time.Second
	blindFor    = time.Minute
	deafFor     = view.DefaultSilence + blindFor
)

func (h *Hub) sender() *notify.Sender {
	return &notify.Sender{Files: h.conf.Files, Dir: h.dir(notifyDir), Run: h.conf.Binary}
}

// notifyAll tells what is to be told as long as this hub leads.
func (h *Hub) notifyAll(ctx context.Context) error {
	began := h.now()
	for {
		g, gctx := errgroup.WithContext(ctx)
		for _, r := range h.notifications.values() {
			g.Go(func() error {
				if err := h.notifyRule(gctx, r, blind(h.now().Sub(began))); err != nil && ctx.Err() == nil {
					h.warn(fmt.Sprintf("cannot notify by the rule %s: %v", r.Name, err))
				}
				return nil
			})
		}
		_ = g.Wait() // none gives an error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(notifyEvery):
		}
	}
}

// blind are the conditions that a hub cannot tell to be over when it has led for so long.
func blind(led time.Duration) map[string]bool {
	out := map[string]bool{}
	for _, s := range notify.States() {
		if led < blindFor || led < deafFor && (s == document.Unresponsive || s == document.Unknown) {
			out[string(s)] = true
		}
	}
	return out
}

// notifyRule looks what a rule has to tell, keeps it, and sends what is due. Between two
// writes a notice is kept with its identity, so it is sent again rather than lost.
func (h *Hub) notifyRule(ctx context.Context, r document.Notification, blind map[string]bool) error {
	s, rev, _ := h.notices.get(r.Name)
	seen, err := h.seen(ctx, r, s.Cursor, blind)
	if err != nil {
		return err
	}
	next, changed := s.Fold(r, seen)
	if changed {
		err := h.notices.put(ctx, r.Name, next, rev)
		if errors.Is(err, fleet.ErrConflict) {
			return nil // somebody approved one meanwhile: in a moment again
		}
		if err != nil {
			return err
		}
		h.noteNotices(ctx, r, s, next)
	}
	for n := next.Due(h.now().UnixNano()); n != nil; n = next.Due(h.now().UnixNano()) {
		sent := h.sender().Send(ctx, r, notify.Compose(h.set.Fleet, r, *n))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next, err = h.notices.change(ctx, r.Name, func(s *notify.State) error {
			*s = s.Sent(n.ID, sent, h.now().UnixNano())
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// noteNotices writes into the log what people have to know of notices.
func (h *Hub) noteNotices(ctx context.Context, r document.Notification, was, is notify.State) {
	if is.Lost > was.Lost {
		h.note(ctx, fleet.HubEvent{Kind: fleet.Untold, Text: "rule " + r.Name, Error: fmt.Sprintf("%d notices were lost: nobody took them for a day", is.Lost-was.Lost)})
	}
	for _, n := range is.Notices[max(0, len(is.Notices)-int(min(is.Number-was.Number, 1))):] {
		if n.Waits {
			h.note(ctx, fleet.HubEvent{Kind: fleet.JobChanged, Text: fmt.Sprintf("rule %s waits: fettle notify approve %s, or deny", r.Name, n.ID)})
		}
	}
}

// seen is what there is for a rule.
func (h *Hub) seen(ctx context.Context, r document.Notification, cursor string, blind map[string]bool) (notify.Seen, error) {
	seen := notify.Seen{Now: h.now().UnixNano(), Blind: blind, Cursor: cursor}
	chosen, err := h.chosen(ctx, r)
	if err != nil {
		return seen, err
	}
	for _, t := range chosen {
		if t.Standing == fleet.Active && notify.Tells(r, string(t.State)) {
			seen.Conditions = append(seen.Conditions, ofTarget(t))
		}
	}
	has := func(id fleet.TargetID) bool { return chosen[id].ID != "" }
	for _, a := range h.alarmsNow() {
		if notify.Tells(r, string(a.Kind)) && (len(r.Select) == 0 || slices.ContainsFunc(a.Targets, has)) {
			seen.Conditions = append(seen.Conditions, ofAlarm(a, seen.Now))
		}
	}
	if notify.Tells(r, notify.OfHub) && len(r.Select) == 0 {
		for _, c := range h.Health(ctx).Checks {
			if c.Error != "" {
				seen.Conditions = append(seen.Conditions, notify.Item{Key: "hub/" + h.set.Name + "/" + c.Name, NoticeItem: document.NoticeItem{Kind: notify.OfHub, Name: h.set.Name, Text: c.Name + ": " + c.Error, At: seen.Now}})
			}
		}
	}
	return seen, h.seenEvents(ctx, r, has, &seen)
}

// chosen are the targets that a rule is about, those that are gone too, by identity. A rule
// without a selection that is not about states needs none of them.
func (h *Hub) chosen(ctx context.Context, r document.Notification) (map[fleet.TargetID]document.Target, error) {
	out := map[fleet.TargetID]document.Target{}
	if len(r.Select) == 0 && !slices.ContainsFunc(notify.States(), func(s document.State) bool { return notify.Tells(r, string(s)) }) {
		return out, nil
	}
	for offset := 0; ; offset += view.MaxPage {
		page, err := h.view.Targets(ctx, view.TargetQuery{Select: r.Select, All: true, Offset: offset, Now: h.now()})
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
		text = "it was not heard of since " + time.Unix(0, t.Contact).UTC().Format("2006-01-02 15:04 MST")
	case document.Drifted:
		text = fmt.Sprintf("%d addresses are not as they were applied", t.Drift)
	}
	return notify.Item{Key: string(t.State) + "/" + string(t.ID), NoticeItem: document.NoticeItem{Kind: string(t.State), Target: t.ID, Name: t.Name, Text: text, At: cmp.Or(t.Changed, t.Contact)}}
}

// ofAlarm is an alarm as a condition. Numbers in it may change while it lasts.
func ofAlarm(a assign.Alarm, now int64) notify.Item {
	sum := sha256.Sum256([]byte(strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, a.Text)))
	return notify.Item{Key: "alarm/" + string(a.Kind) + "/" + a.Module + "/" + hex.EncodeToString(sum[:8]), NoticeItem: document.NoticeItem{Kind: string(a.Kind), Module: a.Module, Text: a.Text, At: now}}
}

// seenEvents adds what happened behind the cursor. A rule that has none begins with now.
func (h *Hub) seenEvents(ctx context.Context, r document.Notification, has func(fleet.TargetID) bool, seen *notify.Seen) error {
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
		page, err := h.view.Events(ctx, view.EventQuery{Limit: 1})
		seen.Cursor = cmp.Or(page.Cursor, "0.0")
		return err
	}
	page, err := h.view.Events(ctx, view.EventQuery{After: seen.Cursor, Kinds: kinds, Limit: 1000})
	if err != nil {
		return err
	}
	seen.Cursor = cmp.Or(page.Cursor, seen.Cursor)
	for _, e := range page.Events {
		if len(r.Select) == 0 || has(e.Target) {
			seen.Events = append(seen.Events, notify.Item{Key: e.Cursor, NoticeItem: document.NoticeItem{Kind: e.Kind, Target: e.Target, Name: e.Name, Module: e.Module, Text: cmp.Or(e.Error, e.Text), At: e.At}})
		}
	}
	return nil
}

// alarmsNow are those that the leader found last, and what this hub sees by itself.
func (h *Hub) alarmsNow() []assign.Alarm {
	all, _, _ := h.alarms.get(alarmsKey)
	return slices.Concat(h.redundancyAlarms(), h.incompatibleAlarms(), all)
}
