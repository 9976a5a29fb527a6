package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestTenantsAreDenied: a route that is not for users of an organization refuses them, with every role, with a text
// that is the same for all routes, and without an effect.
func TestTenantsAreDenied(t *testing.T) {
	const text = `{"title":"Not allowed","status":403,"detail":"users of an organization cannot use this",` +
		`"hint":"Ask an operator of the fleet","request":"ID"}`
	for _, q := range requests {
		row := rowOf(q.route)
		if row.Tenant || row.Right == route.Open {
			continue
		}
		for _, role := range []string{"read", "operate", "approve", "admin", "operate,approve,admin"} {
			hub := newHub(t)
			w := ask(hub.Handler(), row.Method, q.path, role+"@acme", q.body)
			got := strings.Replace(strings.TrimSpace(w.Body.String()), w.Header().Get("X-Request-Id"), "ID", 1)
			if w.Code != http.StatusForbidden || got != text {
				t.Errorf("%s for %s: %d %s", q.route, role, w.Code, got)
			}
			for _, act := range hub.Acts() {
				if !strings.HasSuffix(act, " "+access.Denied) {
					t.Errorf("%s for %s: %s", q.route, role, act)
				}
			}
		}
	}
}

// TestTenantRoutesNeedAuthentication: routes without authentication need no property, because they answer every client.
func TestTenantRoutesNeedAuthentication(t *testing.T) {
	for _, r := range route.All() {
		if r.Tenant && r.Right == route.Open {
			t.Errorf("%s answers every client", r.Name())
		}
	}
}

// TestWhoAmIShowsTheOrganization: a user learns the own organization.
func TestWhoAmIShowsTheOrganization(t *testing.T) {
	h := newHub(t).Handler()
	if w := ask(h, "GET", "/v1/whoami", "read@acme/search", ""); !strings.Contains(w.Body.String(),
		`"organization":"acme/search"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(h, "GET", "/v1/whoami", "read", ""); strings.Contains(w.Body.String(), "organization") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestStreamsEndWhenTheTargetMoves: a stream to a target ends after the target is moved out of the organization of the
// user.
func TestStreamsEndWhenTheTargetMoves(t *testing.T) {
	hub, server := bridged(t, func(h *api.Handler) { h.Recheck = 5 * time.Millisecond })
	web1, err := hub.Target(t.Context(), "web1", apitest.Now())
	if err != nil {
		t.Fatal(err)
	}
	move := func(to fleet.Organization) {
		t.Helper()
		root := access.NewPrincipal("root", "test", access.Admins)
		if err := hub.Move(t.Context(), root, web1.Target.ID, to, ""); err != nil {
			t.Fatal(err)
		}
	}
	move("acme/search")
	for _, path := range []string{"/v1/targets/web1/look", "/v1/targets/web1/work"} {
		body := upgrade(t, server, path, "operate@acme").Body
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, body)
		}()
		move("globex")
		select {
		case <-ended:
		case <-time.After(2 * time.Minute):
			t.Errorf("%s goes on", path)
		}
		_ = body.Close()
		move("acme/search")
	}
}
