// Package apitest provides a hub without a fleet: a Backend with a real read model, whose
// operations only change values in memory. Tests of the API, of its clients and of the command line
// use it.
//
//	hub, err := apitest.New(t.TempDir())
//	defer hub.Close()
//	server := httptest.NewTLSServer(hub.Handler())
//
// It accepts the bearer tokens "read", "operate", "approve" and "admin", with the role of that
// name. "read@acme" is the token of a user of the organization acme.
package apitest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"net/http"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/view"
)

// Now returns the constant time of the hub.
func Now() time.Time { return time.Date(2026, 11, 21, 4, 21, 57, 0, time.UTC) }

// Hub is a Backend. Its methods are safe for concurrent use.
type Hub struct {
	*view.View

	mu      sync.Mutex
	seq     uint64
	targets map[fleet.TargetID]fleet.Target
	acts    []access.Entry

	freeze *document.FleetFreeze // of all targets
	// Open opens executors. If it is nil, every target is offline.
	Open func(by access.Principal, id fleet.TargetID, changes bool) (io.ReadWriteCloser, error)
}

// OpenExecutor calls Open.
func (h *Hub) OpenExecutor(_ context.Context, by access.Principal, id fleet.TargetID,
	changes bool) (io.ReadWriteCloser, error) {
	if h.Open == nil {
		return nil, fleet.ErrOffline
	}
	return h.Open(by, id, changes)
}

// New returns a hub with three targets: web1 is ready, web2 has failed and is behind, and db1 waits
// for approval.
func New(dir string) (*Hub, error) {
	v, err := view.Open(filepath.Join(dir, "view.db"), view.Options{})
	if err != nil {
		return nil, err
	}
	h := &Hub{View: v, targets: map[fleet.TargetID]fleet.Target{}}
	return h, errors.Join(h.fill(context.Background()))
}

func (h *Hub) fill(ctx context.Context) error {
	web := func(c rune) fleet.Assigned {
		return fleet.Assigned{
			Module: "modules/web", Revision: fleet.Revision{Repository: "site", Commit: commit(c), Time: 5,
				Subject: "Serve " + string(c), Branch: "main"},
			Bundle: fleet.Bundle{Digest: "sha256:" + strings.Repeat(string(c), 64), Size: 9},
			Needs:  []fleet.Need{{Module: "modules/base", Level: fleet.Available}},
		}
	}
	var errs []error
	for i, t := range []fleet.Target{
		{ID: id('a'), Name: "web1", Labels: map[string]string{"env": "prod", "role": "web"}, Fleet: "prod",
			Standing: fleet.Active, Key: "sha256:" + strings.Repeat("1", 64), Enrolled: 1_700_000_000, By: "token k7"},
		{ID: id('b'), Name: "web2", Labels: map[string]string{"env": "test", "role": "web"}, Fleet: "prod",
			Standing: fleet.Active, Key: "sha256:" + strings.Repeat("2", 64), Enrolled: 1_700_000_000, By: "token k7"},
		{ID: id('c'), Name: "db1", Fleet: "prod", Standing: fleet.Pending, Key: "sha256:" + strings.Repeat("3", 64),
			Enrolled: 1_700_000_100, By: "token k8"},
	} {
		errs = append(errs, h.put(ctx, t))
		if t.Standing == fleet.Active {
			a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: t.ID, Name: t.Name, Epoch: 1,
				Generation: uint64(7 + i), Issued: 1_700_000_200,
				Root: fleet.Assigned{Revision: web('b').Revision, Bundle: web('b').Bundle}, Modules: []fleet.Assigned{web('b')}}
			errs = append(errs, h.PutAssignment(ctx, a))
		}
	}
	at := Now().Add(-time.Minute).UnixNano()
	errs = append(errs,
		h.Tell(ctx, fleet.HubEvent{Format: fleet.HubEventFormat, At: at, Kind: fleet.RepositoryUpdated, By: "hub h1",
			Text: "site is at bbbbbbbbbbbb"}),
		h.Tell(ctx, fleet.Report{
			Format: fleet.ReportFormat, Target: id('a'), Seq: 1, Boot: "b", At: at,
			Event: fleet.Event{Kind: fleet.Applied, Run: 4, Module: "modules/web", Changes: 3},
			Status: fleet.Status{Epoch: 1, Generation: 7, Version: "1.0", Run: 4, Changed: at,
				Facts: map[string]string{"os": "debian"}, Modules: []fleet.ModuleStatus{{Module: "modules/web",
					Commit: commit('b'), State: fleet.ModuleReady, Since: at}}},
		}),
		h.Tell(ctx, fleet.Report{
			Format: fleet.ReportFormat, Target: id('b'), Seq: 1, Boot: "b", At: at,
			Event: fleet.Event{Kind: fleet.Failed, Run: 2, Module: "modules/web", Error: "cannot restart nginx"},
			Status: fleet.Status{Epoch: 1, Generation: 6, Version: "1.0", Run: 2, Changed: at, Drift: 1,
				Modules: []fleet.ModuleStatus{{Module: "modules/web", Commit: commit('a'), State: fleet.ModuleFailed, Since: at,
					Error: "cannot restart nginx"}}},
		}))
	h.RecordConnection(id('a'), true)
	return errors.Join(errs...)
}

func commit(c rune) string { return strings.Repeat(string(c), 40) }

func id(c rune) fleet.TargetID { return fleet.TargetID(strings.Repeat(string(c), 25) + "a") }

func (h *Hub) put(ctx context.Context, t fleet.Target) error {
	h.targets[t.ID] = t
	return h.PutTarget(ctx, t)
}

// Add adds or replaces a target.
func (h *Hub) Add(ctx context.Context, t fleet.Target) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.put(ctx, t)
}

// Tell appends a fleet.Report or a fleet.HubEvent to the log.
func (h *Hub) Tell(ctx context.Context, record any) error {
	b, err := json.Marshal(record)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.seq++
	seq := h.seq
	h.mu.Unlock()
	return h.Append(ctx, seq, [][]byte{b})
}

// Handler returns the API of this hub.
func (h *Hub) Handler() *api.Handler {
	n := 0
	return &api.Handler{Table: Table(h), Authenticate: Authenticate, Now: Now, Audit: h.audit, NewID: func() string {
		h.mu.Lock()
		defer h.mu.Unlock()
		n++
		return fmt.Sprintf("r%d", n)
	}}
}

// Authenticate accepts the tokens in the package comment.
func Authenticate(r *http.Request) (access.Principal, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return access.Principal{}, errors.New("there is no token")
	}
	token, organization, _ := strings.Cut(token, "@")
	roles, err := access.RolesOf(token)
	if err != nil {
		return access.Principal{}, errors.New("the token is unknown")
	}
	who := access.NewPrincipal("jane", "token", roles...)
	who.Organization = fleet.Organization(organization)
	return who, nil
}

func (h *Hub) audit(_ context.Context, a access.Entry) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acts = append(h.acts, a)
	return nil
}

// Acts returns the audited calls so far, each as ROUTE OBJECT OUTCOME.
func (h *Hub) Acts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	for _, a := range h.acts {
		out = append(out, strings.Join(strings.Fields(a.Operation+" "+a.Object+" "+a.Outcome), " "))
	}
	return out
}

// Health returns a healthy hub.
func (h *Hub) Health(context.Context) document.Health {
	return document.Health{Format: document.HealthFormat, Ready: true, Hub: "h1", Leads: true,
		Checks: []document.Check{{Name: "bus"}, {Name: "view"}}}
}

// change changes a target and stores it in the read model.
func (h *Hub) change(ctx context.Context, id fleet.TargetID, by access.Principal, f func(*fleet.Target)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, ok := h.targets[id]
	if !ok {
		return fleet.ErrNotFound
	}
	f(&t)
	t.By = cmp.Or(by.Name, t.By)
	return h.put(ctx, t)
}

// Because returns the same reasons for every module.
func (h *Hub) Because(_ context.Context, id fleet.TargetID, module string) ([]string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return []string{h.targets[id].Name + " follows main, which is at " + commit('b')[:12],
		module + " is assigned by target group web (fettle.hcl:7)"}, nil
}
