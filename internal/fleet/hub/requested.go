package hub

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// requestLife is how long a request waits for agents that are away, where nobody says.
const requestLife = 7 * 24 * time.Hour

// Do keeps a request until each of the targets has acknowledged it, or its time is over.
func (h *Hub) Do(ctx context.Context, by access.Who, do document.DoRequest, targets []fleet.TargetID) (document.Request, error) {
	pending := slices.Compact(slices.Sorted(slices.Values(targets)))
	now := h.now()
	life := cmp.Or(time.Duration(do.Expires), requestLife)
	r := Request{
		Do:      fleet.Do{ID: newID(), What: do.What, Arg: do.Arg, Run: do.Run, Signed: do.Signed, By: by.Name, At: now.Unix()},
		Pending: pending, Expires: now.Add(life).Unix(),
	}
	if err := h.record(ctx, fleet.HubEvent{Kind: fleet.Requested, By: by.Name, Text: fmt.Sprintf("%s of %s", r.title(), targetCount(len(pending)))}); err != nil {
		return document.Request{}, err
	}
	if err := h.requests.put(ctx, r.ID, r, 0); err != nil {
		return document.Request{}, fmt.Errorf("cannot keep the request: %w", err)
	}
	return h.requestDoc(r), nil
}

func targetCount(n int) string {
	if n == 1 {
		return "1 target"
	}
	return fmt.Sprintf("%d targets", n)
}

// title is what is asked for, in few words.
func (r Request) title() string {
	switch {
	case r.Run == nil:
		return r.What
	case r.Run.Action != "":
		return r.What + " " + r.Run.Action
	}
	return r.What + " " + r.Run.Argv[0]
}

// is says where a request is on a target that said something.
func (a Answer) is() document.AcknowledgementIs {
	switch {
	case a.Taken:
		return document.RequestTaken
	case a.Withdrawn:
		return document.RequestWithdrawn
	case a.Interrupted:
		return document.RequestInterrupted
	case a.Result != nil && (a.Error != "" || a.Result.Exit != 0 || a.Result.TimedOut):
		return document.RequestFailed
	case a.Error != "":
		return document.RequestRefused
	}
	return document.RequestDone
}

func (h *Hub) requestDoc(r Request) document.Request {
	d := document.Request{
		Format: document.RequestFormat, ID: r.ID, What: r.What, By: r.By, At: r.At * 1e9, Run: r.Run,
		Expires: r.Expires * 1e9, Withdrawn: r.Withdrawn, Targets: []document.Acknowledgement{},
	}
	for _, id := range r.Pending {
		is := document.RequestWaits
		if h.now().Unix() >= r.Expires {
			is = document.RequestExpired
		}
		d.Targets = append(d.Targets, document.Acknowledgement{ID: id, Is: is})
	}
	for id, a := range r.Answers {
		t := document.Acknowledgement{ID: id, Done: !a.Taken, At: a.At * 1e9, Error: a.Error, Is: a.is()}
		if a.Result != nil {
			result := *a.Result
			t.Result = &result
		}
		d.Targets = append(d.Targets, t)
	}
	for i, a := range d.Targets {
		t, _, _ := h.targets.get(string(a.ID))
		d.Targets[i].Name = cmp.Or(t.Name, string(a.ID))
	}
	slices.SortFunc(d.Targets, func(a, b document.Acknowledgement) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return d
}

// Request is one with who has acknowledged it, and what programs said.
func (h *Hub) Request(ctx context.Context, id string) (document.Request, error) {
	r, _, ok := h.requests.get(id)
	if !ok {
		return document.Request{}, noRequest(id)
	}
	d := h.requestDoc(r)
	return d, h.addSaid(ctx, r, &d)
}

// Requests is a page of those that are kept, the newest first; limit 0 is the largest page.
func (h *Hub) Requests(_ context.Context, offset, limit int) (document.RequestPage, error) {
	all := h.requests.values()
	slices.SortFunc(all, func(a, b Request) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) })
	page := document.RequestPage{Total: len(all)}
	for _, r := range view.Page(all, offset, limit) {
		page.Requests = append(page.Requests, h.requestDoc(r))
	}
	return page, nil
}
