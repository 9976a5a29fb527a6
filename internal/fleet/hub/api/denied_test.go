package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
)

// A changing request without the right causes exactly one record with the user, the address and the
// request. Reads and unauthenticated requests cause none.
func TestDeniedRequestsAreRecorded(t *testing.T) {
	for _, q := range requests {
		row := rowOf(q.route)
		if row.Right == route.Open {
			continue
		}
		hub := newHub(t)
		h := hub.Handler()
		var got []access.Entry
		h.Audit = func(_ context.Context, e access.Entry) error {
			got = append(got, e)
			return nil
		}
		for _, token := range []string{"", "nobody"} {
			if w := ask(h, row.Method, q.path, token, q.body); w.Code != http.StatusUnauthorized || len(got) > 0 {
				t.Errorf("%s for %q: %d, recorded %+v", q.route, token, w.Code, got)
			}
		}
		for _, token := range []string{"read", "operate", "approve"} {
			if slices.Contains(access.Role(token).Rights(), row.Right) {
				continue
			}
			got = nil
			w := ask(h, row.Method, q.path, token, q.body)
			if w.Code != http.StatusForbidden {
				t.Errorf("%s for %q: %d", q.route, token, w.Code)
			}
			switch {
			case !row.Changes() && len(got) > 0:
				t.Errorf("%s for %q: what only reads is recorded: %+v", q.route, token, got)
			case !row.Changes():
			case len(got) != 1:
				t.Errorf("%s for %q: %d records", q.route, token, len(got))
			default:
				e := got[0]
				want := access.Entry{User: "jane", Credential: "token", Operation: q.route, Object: e.Object,
					Outcome: access.Denied, From: "192.0.2.1:1234", Request: w.Header().Get("X-Request-Id")}
				if strings.Contains(row.Path, "{organization}") {
					want.Of = "acme"
				}
				if e != want || e.Request == "" || (e.Object != "") != strings.Contains(row.Path, "{") {
					t.Errorf("%s for %q: recorded %+v, want %+v", q.route, token, e, want)
				}
			}
		}
	}
}

// A user without a name is not authenticated, also without an error and with rights. So is a user
// with an error.
func TestUsersWithoutAName(t *testing.T) {
	for what, authenticate := range map[string]api.Authenticate{
		"no name": func(*http.Request) (access.Principal, error) {
			return access.NewPrincipal("", "test", access.Admins), nil
		},
		"a name and an error": func(*http.Request) (access.Principal, error) {
			return access.NewPrincipal("jane", "test", access.Admins), errors.New("no")
		},
	} {
		for _, q := range requests {
			row := rowOf(q.route)
			if row.Right == route.Open {
				continue
			}
			hub := newHub(t)
			h := hub.Handler()
			h.Authenticate = authenticate
			if w := ask(h, row.Method, q.path, "admin", q.body); w.Code != http.StatusUnauthorized {
				t.Fatalf("%s with %s: %d", q.route, what, w.Code)
			}
			if acts := hub.Acts(); len(acts) > 0 {
				t.Errorf("%s with %s: %v", q.route, what, acts)
			}
		}
	}
}

// Open streams end when the login expires, or when the user loses the right. If the hub cannot
// check the right, they continue.
func TestOpenStreamsEndWithTheProof(t *testing.T) {
	ends := map[string]func(*api.Handler, chan struct{}){
		"the proof ends": func(h *api.Handler, opened chan struct{}) {
			h.Recheck = time.Hour
			h.Authenticate = func(r *http.Request) (access.Principal, error) {
				who, err := apitest.Authenticate(r)
				who.Expires = apitest.Now().Add(50 * time.Millisecond)
				return who, err
			}
		},
		"another organization": func(h *api.Handler, opened chan struct{}) {
			h.Recheck = 5 * time.Millisecond
			h.Authenticate = func(r *http.Request) (access.Principal, error) {
				who, err := apitest.Authenticate(r)
				select {
				case <-opened:
					who.Organization = "acme"
				default:
				}
				return who, err
			}
		},
		"locked out": func(h *api.Handler, opened chan struct{}) {
			h.Recheck = 5 * time.Millisecond
			h.Authenticate = func(r *http.Request) (access.Principal, error) {
				select {
				case <-opened:
					return access.Principal{}, fleet.ErrDenied
				default:
					return apitest.Authenticate(r)
				}
			}
		},
	}
	for what, change := range ends {
		for _, path := range []string{"/v1/events/follow", "/v1/targets/web1/work"} {
			opened := make(chan struct{})
			_, server := bridged(t, func(h *api.Handler) { change(h, opened) })
			var body io.ReadCloser
			if path == "/v1/events/follow" {
				r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", "Bearer operate")
				answer, err := server.Client().Do(r)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("%s: %v %v", path, answer, err)
				}
				body = answer.Body
			} else {
				body = upgrade(t, server, path, "operate").Body
			}
			close(opened)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for lines := bufio.NewReader(body); ; {
					if _, err := lines.ReadString('\n'); err != nil {
						return
					}
				}
			}()
			select {
			case <-ended:
			case <-time.After(2 * time.Minute):
				t.Errorf("%s, and %s goes on", what, path)
			}
			_ = body.Close()
		}
	}
}
