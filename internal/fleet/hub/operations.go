package hub

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// askFor is how long an agent may take to answer.
const askFor = 30 * time.Second

// requestLife is how long a request waits for agents that are away.
const requestLife = 7 * 24 * time.Hour

// Do keeps a request until each of the targets has acknowledged it.
func (h *Hub) Do(ctx context.Context, by access.Who, what, arg string, targets []fleet.TargetID) (document.Request, error) {
	pending := slices.Compact(slices.Sorted(slices.Values(targets)))
	now := h.now()
	r := Request{Do: fleet.Do{ID: newID(), What: what, Arg: arg, By: by.Name, At: now.Unix()}, Pending: pending, Expires: now.Add(requestLife).Unix()}
	if err := h.record(ctx, fleet.HubEvent{Kind: fleet.Requested, By: by.Name, Text: fmt.Sprintf("%s of %d targets", what, len(pending))}); err != nil {
		return document.Request{}, err
	}
	if err := h.requests.put(ctx, r.ID, r, 0); err != nil {
		return document.Request{}, fmt.Errorf("cannot keep the request: %w", err)
	}
	return h.requestDoc(r), nil
}

func (h *Hub) requestDoc(r Request) document.Request {
	d := document.Request{Format: document.RequestFormat, ID: r.ID, What: r.What, By: r.By, At: r.At * 1e9, Targets: []document.Acknowledgement{}}
	add := func(id fleet.TargetID, a Answer, done bool) {
		t, _, _ := h.targets.get(string(id))
		d.Targets = append(d.Targets, document.Acknowledgement{ID: id, Name: cmp.Or(t.Name, string(id)), Done: done, At: a.At * 1e9, Error: a.Error})
	}
	for _, id := range r.Pending {
		add(id, Answer{}, false)
	}
	for id, a := range r.Answers {
		add(id, a, true)
	}
	slices.SortFunc(d.Targets, func(a, b document.Acknowledgement) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return d
}

// Request is one with who has acknowledged it.
func (h *Hub) Request(_ context.Context, id string) (document.Request, error) {
	r, _, ok := h.requests.get(id)
	if !ok {
		return document.Request{}, &api.Refusal{Status: http.StatusNotFound, Why: fmt.Sprintf("cannot find the request %.40q", id), Hint: "Look at: fettle request list"}
	}
	return h.requestDoc(r), nil
}

// Requests are those that are kept, the newest first.
func (h *Hub) Requests(context.Context) ([]document.Request, error) {
	out := []document.Request{}
	for _, r := range h.requests.values() {
		out = append(out, h.requestDoc(r))
	}
	slices.SortFunc(out, func(a, b document.Request) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// Repositories is what the fleet follows.
func (h *Hub) Repositories(context.Context) ([]document.Repository, error) {
	r := h.repository()
	if r.URL == "" {
		return []document.Repository{}, nil
	}
	d := document.Repository{Name: r.Name, URL: r.URL, Branch: r.Branch}
	if ref, _, ok := h.refs.get(refKey(r.Branch)); ok {
		d.Commit, d.Subject, d.Read, d.Error = ref.Revision.Commit, ref.Revision.Subject, ref.Read, ref.Error
	}
	return []document.Repository{d}, nil
}

// Health is how this hub is.
func (h *Hub) Health(context.Context) document.Health {
	h.mu.Lock()
	leads := h.leader != nil
	h.mu.Unlock()
	d := document.Health{Format: document.HealthFormat, Ready: true, Hub: h.set.Name, Leads: leads}
	check := func(name string, err error) {
		c := document.Check{Name: name}
		if err != nil {
			c.Error, d.Ready = err.Error(), false
		}
		d.Checks = append(d.Checks, c)
	}
	check("bus", h.bus.Healthy())
	for _, err := range h.assignments.unreadable() {
		check("assignments", err)
	}
	return d
}
