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

// CreateToken creates a token. Its secret is "secret-" and its ID.
func (h *Hub) CreateToken(_ context.Context, by access.Principal, r document.TokenRequest) (document.NewToken, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := document.Token{
		ID: fmt.Sprintf("k%d", len(h.tokens)+1), Fleet: r.Fleet, Labels: r.Labels, Names: r.Names, Uses: max(r.Uses, 1),
		Created: Now().UnixNano(), Expires: Now().UnixNano() + r.Expires,
		By: by.Name, Approve: r.Approve, Network: r.Network, Note: r.Note, Hub: r.Hub,
	}
	h.tokens = append(h.tokens, t)
	return document.NewToken{Token: t, Secret: "secret-" + t.ID}, nil
}

// Tokens returns the created tokens.
func (h *Hub) Tokens(context.Context) ([]document.Token, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]document.Token{}, h.tokens...), nil
}

// RevokeToken marks a token as revoked.
func (h *Hub) RevokeToken(_ context.Context, _ access.Principal, id string) error {
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

// Hubs returns two hubs. The first one leads.
func (h *Hub) Hubs(context.Context) (document.HubPage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := document.HubPage{Format: document.HubPageFormat, AnsweredBy: "hub1", Copies: 2, Complete: true,
		Hubs: []document.HubMember{{
			Name: "hub1", HubURLs: []string{"https://hub1.example.org:7440"}, BusURLs: []string{"tls://hub1.example.org:7441"},
			Reachable: true, Current: true, StoredCopies: 10, Leader: true, Authority: true, Joined: Now().UnixNano(),
		}}}
	if !h.alone {
		p.Hubs = append(p.Hubs, document.HubMember{Name: "hub2", HubURLs: []string{"https://hub2.example.org:7440"},
			BusURLs: []string{"tls://hub2.example.org:7441"}, Reachable: true, Lag: 3, StoredCopies: 10,
			Joined: Now().UnixNano()})
	}
	return p, nil
}

// RetireHub removes hub2.
func (h *Hub) RetireHub(_ context.Context, _ access.Principal, name string, _ document.HubRetirement) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if name != "hub2" || h.alone {
		return fmt.Errorf("cannot find the hub %q: %w", name, fleet.ErrNotFound)
	}
	h.alone = true
	return nil
}

// Users returns the users that SetUser has stored.
func (h *Hub) Users(context.Context) ([]document.User, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]document.User{}, h.users...), nil
}

// SetUser adds or replaces a user.
func (h *Hub) SetUser(_ context.Context, by access.Principal, r document.UserRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.users = slices.DeleteFunc(h.users, func(k document.User) bool { return k.Name == r.Name })
	h.users = append(h.users, document.User{Name: r.Name, Roles: append([]string{}, r.Roles...), Locked: r.Locked,
		Changed: Now().UnixNano(), By: by.Name, Groups: r.Groups})
	return nil
}

// CreateLogin returns a token that Authenticate does not accept.
func (h *Hub) CreateLogin(_ context.Context, _ access.Principal, name string,
	r document.LoginRequest) (document.NewLogin, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.users, func(k document.User) bool { return k.Name == name }) {
		return document.NewLogin{}, fmt.Errorf("cannot find the user %q: %w", name, fleet.ErrNotFound)
	}
	return document.NewLogin{Name: name, ID: "p1", Expires: Now().UnixNano() + r.Expires, Secret: "secret-of-" + name}, nil
}

// CreateWebLogin returns a link that no page accepts.
func (h *Hub) CreateWebLogin(_ context.Context, by access.Principal,
	r document.WebLoginRequest) (document.WebLogin, error) {
	return document.WebLogin{User: cmp.Or(r.User, by.Name), Link: "https://hub1.example.org:7440/sign-in?code=w1",
		Expires: Now().Add(2 * time.Minute).UnixNano()}, nil
}

// Logins returns one fixed login, different from the result of CreateLogin.
func (h *Hub) Logins(_ context.Context, name string) ([]document.Login, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.ContainsFunc(h.users, func(k document.User) bool { return k.Name == name }) {
		return nil, fmt.Errorf("cannot find the user %q: %w", name, fleet.ErrNotFound)
	}
	l := document.Login{ID: "fettle-api-p1", Roles: []string{"read"}, Made: Now().UnixNano(), By: "root",
		Expires: Now().Add(time.Hour).UnixNano(), Note: "laptop"}
	if h.cancelled {
		l.Revoked = Now().UnixNano()
	}
	return []document.Login{l}, nil
}

// RevokeLogin revokes the fixed login.
func (h *Hub) RevokeLogin(_ context.Context, _ access.Principal, name, login string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if login != "p1" && login != "fettle-api-p1" {
		return fmt.Errorf("cannot find the login %q of %s: %w", login, name, fleet.ErrNotFound)
	}
	h.cancelled = true
	return nil
}

// Approve makes a target active.
func (h *Hub) Approve(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Active })
}

// Retire makes a target retired.
func (h *Hub) Retire(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Retired })
}

// Revoke makes a target revoked.
func (h *Hub) Revoke(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Standing = fleet.Revoked })
}

// SetLabels sets and removes labels.
func (h *Hub) SetLabels(ctx context.Context, by access.Principal, id fleet.TargetID, r document.LabelRequest) error {
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

// Pin sets the pin of a target.
func (h *Hub) Pin(ctx context.Context, by access.Principal, id fleet.TargetID, p fleet.Pin) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Pin = &p })
}

// Unpin removes the pin of a target.
func (h *Hub) Unpin(ctx context.Context, by access.Principal, id fleet.TargetID, _ string) error {
	return h.change(ctx, id, by, func(t *fleet.Target) { t.Pin = nil })
}

// Freeze only adds an event to the log.
func (h *Hub) Freeze(ctx context.Context, by access.Principal, id fleet.TargetID, r document.FreezeRequest) error {
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.TargetFrozen,
		Target: id, By: by.Name, Text: r.Reason})
}

// Unfreeze only adds an event to the log.
func (h *Hub) Unfreeze(ctx context.Context, by access.Principal, id fleet.TargetID) error {
	return h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: Now().UnixNano(), Kind: fleet.TargetUnfrozen,
		Target: id, By: by.Name})
}

// FreezeAll stores the freeze of the fleet.
func (h *Hub) FreezeAll(_ context.Context, by access.Principal, r document.FreezeRequest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freeze = &document.FleetFreeze{At: Now().UnixNano(), By: by.Name, Reason: r.Reason}
	if r.For > 0 {
		h.freeze.Until = h.freeze.At + r.For
	}
	return nil
}

// UnfreezeAll removes the freeze of the fleet.
func (h *Hub) UnfreezeAll(context.Context, access.Principal) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freeze = nil
	return nil
}

// FrozenAll returns the freeze of the fleet, or nil.
func (h *Hub) FrozenAll(context.Context) (*document.FleetFreeze, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.freeze, nil
}

// CreateJob stores a job that web1 has acknowledged already. The program "missing" fails on web1.
func (h *Hub) CreateJob(_ context.Context, by access.Principal, do document.JobRequest,
	targets []fleet.TargetID) (document.Job, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := document.Job{ID: fmt.Sprintf("q%d", len(h.jobs)+1), What: do.What, Run: do.Run,
		Expires: Now().Add(cmp.Or(time.Duration(do.Expires), 7*24*time.Hour)).UnixNano(), By: by.Name, At: Now().UnixNano()}
	for _, id := range targets {
		a := document.JobTarget{ID: id, Name: h.targets[id].Name, Done: h.targets[id].Name == "web1"}
		a.State = document.JobWaits
		if a.Done {
			a.At, a.State = Now().UnixNano(), document.JobDone
			if do.Run != nil {
				a.Result = &fleet.CommandResult{Command: 7, Exit: 3, Stdout: "up 3 days\n", Duration: 12_000_000}
				a.State = document.JobFailed
				if len(do.Run.Argv) > 0 && do.Run.Argv[0] == "missing" {
					a.Result, a.Error = &fleet.CommandResult{Command: 7}, `cannot run "missing"`
				}
			}
		}
		r.Targets = append(r.Targets, a)
	}
	h.jobs = append(h.jobs, r)
	return r, nil
}

// CancelJob cancels a job for the pending targets.
func (h *Hub) CancelJob(_ context.Context, by access.Principal, id string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, r := range h.jobs {
		if r.ID != id {
			continue
		}
		h.jobs[i].CancelledBy = by.Name
		for k, t := range r.Targets {
			if !t.Done {
				r.Targets[k].Done, r.Targets[k].State = true, document.JobCancelled
			}
		}
		return nil
	}
	return fmt.Errorf("cannot find the job %q: %w", id, fleet.ErrNotFound)
}

// Job returns one job.
func (h *Hub) Job(_ context.Context, id string) (document.Job, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.jobs {
		if r.ID == id {
			return r, nil
		}
	}
	return document.Job{}, fmt.Errorf("cannot find the job %q: %w", id, fleet.ErrNotFound)
}

// Jobs returns a page of jobs.
func (h *Hub) Jobs(_ context.Context, offset, limit int) (document.JobPage, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return document.JobPage{Total: len(h.jobs), Jobs: slices.Clone(view.Page(h.jobs, offset, limit))}, nil
}
