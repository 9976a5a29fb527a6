package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// said is what a program said on one target.
type said struct {
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
}

func resultKey(request string, id fleet.TargetID) string { return request + "/" + string(id) }

// onDone keeps how a request ended that an agent had taken; the answer says that it is
// durable. What nobody waits for is heard and forgotten.
func (h *Hub) onDone(ctx context.Context, from fleet.TargetID, body []byte) ([]byte, error) {
	if _, err := h.trusted(ctx, from); err != nil {
		return nil, err
	}
	body, err := h.reports.Unsqueeze(body, fleet.MaxDone)
	if err != nil {
		return nil, err
	}
	d, err := fleet.ParseDone(body)
	if err != nil {
		return nil, err
	}
	a := answerOf(d, h.now())
	if d.Taken {
		return nil, nil
	}
	if waits, err := awaited(ctx, h.requests, d.ID, from, a); err != nil || !waits {
		return nil, err
	}
	if a.Said {
		text, err := json.Marshal(said{d.Result.Stdout, d.Result.Stderr})
		if err == nil {
			_, err = h.stores["results"].Put(ctx, resultKey(d.ID, from), text)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot keep what it said: %w", err)
		}
	}
	f := h.courier.note(d.ID, from, a)
	select {
	case <-f.done:
		return nil, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// awaited tells whether a job waits for an answer of a target. An agent forgets an answer that a hub
// has acknowledged, and the mirror of this hub may be behind the store. So the store decides about
// a job that the mirror does not have, and must prove that it does not exist.
func awaited(ctx context.Context, jobs *mirror[Request], id string, from fleet.TargetID, a Answer) (bool, error) {
	r, _, ok := jobs.get(id)
	if ok {
		return r.takes(from, a), nil
	}
	e, err := jobs.store.Get(ctx, jobs.prefix+id)
	switch {
	case errors.Is(err, fleet.ErrNotFound):
		return false, absent(ctx, jobs.store, jobs.prefix+id)
	case err != nil:
		return false, err
	}
	if r, err = jobs.parse(e.Value); err != nil {
		return false, nil // it is unreadable for each hub, and reported as such
	}
	return r.takes(from, a), nil
}

// Withdraw takes a request back from those of its targets that have not begun.
func (h *Hub) Withdraw(ctx context.Context, by access.Who, id string) error {
	r, err := h.requests.change(ctx, id, func(r *Request) error {
		begun := slices.ContainsFunc(slices.Collect(maps.Values(r.Answers)), func(a Answer) bool { return a.Taken })
		if r.Withdrawn != "" || !r.open(h.now().Unix()) && !begun {
			return &api.Refusal{Status: http.StatusConflict, Why: fmt.Sprintf("cannot withdraw the request %s: nobody is left who could still begin it", id), Hint: "See how it ended: fettle request show " + id}
		}
		r.withdraw(by.Name, h.now())
		return nil
	})
	if errors.Is(err, fleet.ErrNotFound) {
		return noRequest(id)
	}
	if err != nil {
		return err
	}
	return h.record(ctx, fleet.HubEvent{Kind: fleet.Requested, By: by.Name, Text: "no more: " + r.title()})
}

func noRequest(id string) error {
	return &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the request %.40q", id), Hint: "Look at: fettle request list"}
}

// mostSaid is of how many targets a request shows what was said: those where it failed first.
const mostSaid = 100

// addSaid adds what programs said.
func (h *Hub) addSaid(ctx context.Context, r Request, d *document.Request) error {
	unread := false // the store does not answer: outputs are left out, the rest is known
	var order []int
	for i, a := range d.Targets {
		if r.Answers[a.ID].Said {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(isWell(d.Targets[a].Is), isWell(d.Targets[b].Is))
	})
	for n, i := range order {
		t := &d.Targets[i]
		if n >= mostSaid || unread {
			t.Cut = true
			continue
		}
		e, err := h.resultOf(ctx, r, t.ID)
		unread = errors.Is(err, fleet.ErrNoAnswer)
		var s said
		if err == nil {
			err = json.Unmarshal(e.Value, &s)
		}
		if err != nil && !errors.Is(err, fleet.ErrNotFound) && !unread {
			return fmt.Errorf("cannot read what was said: %w", err)
		}
		t.Cut = err != nil
		t.Result.Stdout, t.Result.Stderr = s.Stdout, s.Stderr
	}
	return nil
}

func (h *Hub) resultOf(ctx context.Context, r Request, id fleet.TargetID) (fleet.Entry, error) {
	ctx, stop := context.WithTimeout(ctx, lookFor/2)
	defer stop()
	return h.stores["results"].Get(ctx, resultKey(r.ID, id))
}

func isWell(is document.AcknowledgementIs) int {
	if is == document.RequestDone {
		return 1
	}
	return 0
}

// forgetRequest removes a request with what was said.
func (h *Hub) forgetRequest(ctx context.Context, r Request) error {
	for id, a := range r.Answers {
		if !a.Said {
			continue
		}
		if err := h.stores["results"].Delete(ctx, resultKey(r.ID, id), 0); err != nil && !errors.Is(err, fleet.ErrNotFound) {
			return err
		}
	}
	return h.requests.remove(ctx, r.ID)
}
