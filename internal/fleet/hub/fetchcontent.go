package hub

import (
	"context"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
)

// Times of the search for missing content. A hub searches after a change of assignments, and
// otherwise every keepEvery, or every keepAloneEvery if it is the only hub. After a change it waits
// keepAfter for further changes, because each search visits all assignments.
const (
	keepEvery      = 10 * time.Second
	keepAloneEvery = 10 * time.Minute
	keepAfter      = 300 * time.Millisecond
)

// fetchContent fetches the missing content of all assignments until ctx ends, so that any hub can
// serve it. It asks other hubs first. If none has the content and this hub leads, the repository is
// the source.
func (h *Hub) fetchContent(ctx context.Context) error {
	trust, err := h.trust()
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: trust.ClientTLS(h.keys.TLS, h.now, nil), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	f := &content.Fetcher{Store: h.content, Bases: h.others, Transport: transport, Attempts: 1, Pause: 100 * time.Millisecond}
	for {
		h.keepAll(ctx, f)
		every := keepEvery
		if h.members.Alone() {
			every = keepAloneEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.wanting:
			select { // a commit changes the assignments of many targets one after the other
			case <-ctx.Done():
				return nil
			case <-time.After(keepAfter):
			}
		case <-time.After(every):
		}
	}
}

// others returns the URLs of all other hubs. A hub that is alone has none.
func (h *Hub) others() []string {
	if h.members.Alone() {
		return nil
	}
	var out []string
	for _, m := range h.records.Members.Values() {
		if m.Name != h.set.Name {
			out = append(out, m.HubURLs...)
		}
	}
	return out
}

func (h *Hub) keepAll(ctx context.Context, f *content.Fetcher) {
	seen, lists := map[string]bool{}, map[*fleet.Assigned]bool{}
	keep := func(b fleet.Bundle, from fleet.Revision) {
		if ctx.Err() == nil && !seen[b.Digest] && !h.content.Has(b) {
			h.keepOne(ctx, f, from, b)
		}
		seen[b.Digest] = true
	}
	keepPart := func(part fleet.Assigned) {
		keep(part.Bundle, part.Revision)
		if part.Proof != nil {
			keep(*part.Proof, part.Revision)
		}
	}
	for _, g := range h.records.Assignments.Values() {
		keepPart(g.Assignment.Root)
		list := g.Assignment.Modules
		if len(list) == 0 || lists[&list[0]] {
			continue // targets with the same configuration share one list
		}
		lists[&list[0]] = true
		for _, part := range list {
			keepPart(part)
		}
	}
}

func (h *Hub) keepOne(ctx context.Context, f *content.Fetcher, from fleet.Revision, b fleet.Bundle) {
	if len(f.Bases()) > 0 && f.Fetch(ctx, b) == nil {
		return
	}
	h.mu.Lock()
	repo := h.repo
	h.mu.Unlock()
	if repo == nil {
		return // the next search tries again
	}
	if _, err := repo.Pack(ctx, from, h.content); err != nil && ctx.Err() == nil {
		h.warn("cannot fetch content of an assignment: " + err.Error())
	}
}
