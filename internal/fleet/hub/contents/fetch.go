package contents

import (
	"context"
	"errors"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/hub/repository"
)

// Times of the search for missing content. A hub searches after a change of assignments, and
// otherwise every keepEvery, or every keepAloneEvery if it is the only hub. After a change it waits
// keepAfter for further changes, because each search visits all assignments.
const (
	keepEvery      = 10 * time.Second
	keepAloneEvery = 10 * time.Minute
	keepAfter      = 300 * time.Millisecond
)

// Fetch fetches the missing content of all assignments until ctx ends, so that any hub can
// serve it. It asks other hubs first. If none has the content and this hub leads, the repository is
// the source.
func (c *Contents) Fetch(ctx context.Context) error {
	trust, err := c.Trust()
	if err != nil {
		return err
	}
	transport := &http.Transport{TLSClientConfig: trust.ClientTLS(c.TLS, c.Now, nil), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	f := &content.Fetcher{Store: c.Store, Bases: c.others, Transport: transport, Attempts: 1,
		Pause: 100 * time.Millisecond}
	for {
		c.keepAll(ctx, f)
		every := keepEvery
		if c.Alone() {
			every = keepAloneEvery
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.changed:
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
func (c *Contents) others() []string {
	if c.Alone() {
		return nil
	}
	var out []string
	for _, m := range c.Records.Members.Values() {
		if m.Name != c.Hub {
			out = append(out, m.HubURLs...)
		}
	}
	return out
}

// Wake makes Fetch search soon, after a change of assignments.
func (c *Contents) Wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *Contents) keepAll(ctx context.Context, f *content.Fetcher) {
	seen, lists := map[string]bool{}, map[*fleet.Assigned]bool{}
	keep := func(b fleet.Bundle, from fleet.Revision) {
		if ctx.Err() == nil && !seen[b.Digest] && !c.Store.Has(b) {
			c.keepOne(ctx, f, from, b)
		}
		seen[b.Digest] = true
	}
	keepPart := func(part fleet.Assigned) {
		keep(part.Bundle, part.Revision)
		if part.Proof != nil {
			keep(*part.Proof, part.Revision)
		}
	}
	for _, g := range c.Records.Assignments.Values() {
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

func (c *Contents) keepOne(ctx context.Context, f *content.Fetcher, from fleet.Revision, b fleet.Bundle) {
	if len(f.Bases()) > 0 && f.Fetch(ctx, b) == nil {
		return
	}
	_, err := c.Repository.Pack(ctx, from, c.Store)
	if errors.Is(err, repository.ErrNoClone) {
		return // the next search tries again
	}
	if err != nil && ctx.Err() == nil {
		c.Warn("cannot fetch content of an assignment: " + err.Error())
	}
}
