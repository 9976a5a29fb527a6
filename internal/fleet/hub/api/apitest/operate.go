package apitest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// CreateToken makes one whose secret is "secret-" and its identity.
func (h *Hub) CreateToken(_ context.Context, by access.Who, r document.TokenRequest) (document.NewToken, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := document.Token{
		ID: fmt.Sprintf("k%d", len(h.tokens)+1), Fleet: r.Fleet, Labels: r.Labels, Names: r.Names, Uses: max(r.Uses, 1), Created: Now().UnixNano(), Expires: Now().UnixNano() + r.Expires,
		By: by.Name, Approve: r.Approve, Network: r.Network, Note: r.Note, Hub: r.Hub,
	}
	h.tokens = append(h.tokens, t)
	return document.NewToken{Token: t, Secret: "secret-" + t.ID}, nil
}

// Tokens are those that were made.
func (h *Hub) Tokens(context.Context) ([]document.Token, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]document.Token{}, h.tokens...), nil
}

// RevokeToken marks one.
func (h *Hub) RevokeToken(_ context.Context, _ access.Who, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.tokens {
		if h.tokens[i].ID == id {
			h.tokens[i].Revoked = true
			return nil
		}
	}
	return fmt.Errorf("cannot find the token %q: %w", id, fleet.ErrNotFound)
}

// Hubs are two, of which the first leads.
func (h *Hub) Hubs(context.Context) (document.HubPage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := document.HubPage{Format: document.HubPageFormat, Seen: "hub1", Copies: 2, Whole: true, Hubs: []document.HubMember{{
		Name: "hub1", Hubs: []string{"https://hub1.example.org:7440"}, Buses: []string{"tls://hub1.example.org:7441"}, Here: true, Current: true, Keeps: 10, Leads: true, Authority: true, Joined: Now().UnixNano(),
	}}}
	if !h.alone {
		p.Hubs = append(p.Hubs, document.HubMember{Name: "hub2", Hubs: []string{"https://hub2.example.org:7440"}, Buses: []string{"tls://hub2.example.org:7441"}, Here: true, Lag: 3, Keeps: 10, Joined: Now().UnixNano()})
	}
	return p, nil
}

// RetireHub leaves the first alone.
func (h *Hub) RetireHub(_ context.Context, _ access.Who, name string, _ document.HubRetirement) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if name != "hub2" || h.alone {
		return fmt.Errorf("cannot find the hub %q: %w", name, fleet.ErrNotFound)
	}
	h.alone = true
	return nil
}

// People are those that were set.
func (h *Hub) People(context.Context) ([]document.Known, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]document.Known{}, h.people...), nil
}

// SetPerson adds somebody, or replaces them.
func (h *Hub) SetPerson(_ context.Context, by access.Who, r document.PersonRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.people = slices.DeleteFunc(h.people, func(k document.Known) bool { return k.Name == r.Name })
	h.people = append(h.people, document.Known{Name: r.Name, Roles: append([]string{}, r.Roles...), Locked: r.Locked, Changed: Now().UnixNano(), By: by.Name})
	return nil
}

// CreateLogin gives a token that opens nothing.
func (h *Hub) CreateLogin(_ context.Context, _ access.Who, name string, r document.LoginRequest) (document.NewLogin, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.people, func(k document.Known) bool { return k.Name == name }) {
		return document.NewLogin{}, fmt.Errorf("cannot find anybody called %q: %w", name, fleet.ErrNotFound)
	}
	return document.NewLogin{Name: name, ID: "p1", Expires: Now().UnixNano() + r.Expires, Secret: "secret-of-" + name}, nil
}

// Logins are one, which is not secret-of-somebody.
func (h *Hub) Logins(_ context.Context, name string) ([]document.Login, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.people, func(k document.Known) bool { return k.Name == name }) {
		return nil, fmt.Errorf("cannot find anybody called %q: %w", name, fleet.ErrNotFound)
	}
	l := document.Login{ID: "fettle-api-p1", Roles: []string{"read"}, Made: Now().UnixNano(), By: "root", Expires: Now().Add(time.Hour).UnixNano(), Note: "laptop"}
	if h.withdrawn {
		l.Withdrawn = Now().UnixNano()
	}
	return []document.Login{l}, nil
}

// WithdrawLogin ends that one.
func (h *Hub) WithdrawLogin(_ context.Context, _ access.Who, name, login string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if login != "p1" && login != "fettle-api-p1" {
		return fmt.Errorf("cannot find the login %q of %s: %w", login, name, fleet.ErrNotFound)
	}
	h.withdrawn = true
	return nil
}

// Approve makes a target active.
func (h *Hub) Approve(ctx context.Context, by access.Who, id fleet.TargetID) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Active })
}

// Retire makes it retired.
func (h *Hub) Retire(ctx context.Context, by access.Who, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Retired })
}

// Revoke makes it revoked.
func (h *Hub) Revoke(ctx context.Context, by access.Who, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Revoked })
}

// SetLabels sets and removes.
func (h *Hub) SetLabels(ctx context.Context, by access.Who, id fleet.TargetID, r document.LabelRequest) error {
	return h.change(ctx, id, by, func(t *fleet.Target) {
		labels := maps.Clone(t.Labels)
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, r.Set)
		for _, k := range r.Remove {
			delete(labels, k)
		}
		t.Labels = labels
	})
}

// Pin keeps the pin.
func (h *Hub) Pin(ctx context.Context, by access.Who, id fleet.TargetID, p fleet.Pin) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Pin = &p })
}

// Unpin takes it away.
func (h *Hub) Unpin(ctx context.Context, by access.Who, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Pin = nil })
}

// Freeze tells of it in the log.
func (h *Hub) Freeze(ctx context.Context, by access.Who, id fleet.TargetID, r document.FreezeRequest) error {
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.Froze, Target: id, By: by.Name, Text: r.Reason})
}

// Unfreeze tells of it in the log.
func (h *Hub) Unfreeze(ctx context.Context, by access.Who, id fleet.TargetID) error {
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.Unfroze, Target: id, By: by.Name})
}

// FreezeAll keeps the freeze of the fleet.
func (h *Hub) FreezeAll(_ context.Context, by access.Who, r document.FreezeRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freeze = &document.FleetFreeze{At: Now().UnixNano(), By: by.Name, Reason: r.Reason}
	if r.For > 0 {
		h.freeze.Until = h.freeze.At + r.For
	}
	return nil
}

// UnfreezeAll removes it.
func (h *Hub) UnfreezeAll(context.Context, access.Who) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freeze = nil
	return nil
}

// FrozenAll is the freeze of the fleet, nil for none.
func (h *Hub) FrozenAll(context.Context) (*document.FleetFreeze, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.freeze, nil
}

// Do keeps a request that web1 has acknowledged; it has no program "missing".
func (h *Hub) Do(_ context.Context, by access.Who, do document.DoRequest, targets []fleet.TargetID) (document.Request, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := document.Request{ID: fmt.Sprintf("q%d", len(h.requests)+1), What: do.What, Run: do.Run, Expires: Now().Add(cmp.Or(time.Duration(do.Expires), 7*24*time.Hour)).UnixNano(), By: by.Name, At: Now().UnixNano()}
	for _, id := range targets {
		a := document.Acknowledgement{ID: id, Name: h.targets[id].Name, Done: h.targets[id].Name == "web1"}
		a.Is = document.RequestWaits
		if a.Done {
			a.At, a.Is = Now().UnixNano(), document.RequestDone
			if do.Run != nil {
				a.Result = &fleet.CommandResult{Command: 7, Exit: 3, Stdout: "up 3 days\n", Duration: 12_000_000}
				a.Is = document.RequestFailed
				if len(do.Run.Argv) > 0 && do.Run.Argv[0] == "missing" {
					a.Result, a.Error = &fleet.CommandResult{Command: 7}, `cannot run "missing"`
				}
			}
		}
		r.Targets = append(r.Targets, a)
	}
	h.requests = append(h.requests, r)
	return r, nil
}

// Withdraw takes one back from those that it waits for.
func (h *Hub) Withdraw(_ context.Context, by access.Who, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, r := range h.requests {
		if r.ID != id {
			continue
		}
		h.requests[i].Withdrawn = by.Name
		for k, t := range r.Targets {
			if !t.Done {
				r.Targets[k].Done, r.Targets[k].Is = true, document.RequestWithdrawn
			}
		}
		return nil
	}
	return fmt.Errorf("cannot find the request %q: %w", id, fleet.ErrNotFound)
}

// Request finds one.
func (h *Hub) Request(_ context.Context, id string) (document.Request, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.requests {
		if r.ID == id {
			return r, nil
		}
	}
	return document.Request{}, fmt.Errorf("cannot find the request %q: %w", id, fleet.ErrNotFound)
}

// Requests is a page of them.
func (h *Hub) Requests(_ context.Context, offset, limit int) (document.RequestPage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return document.RequestPage{Total: len(h.requests), Requests: slices.Clone(view.Page(h.requests, offset, limit))}, nil
}
