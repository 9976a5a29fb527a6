package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/view"
)

// pages is a backend that answers questions about events with pages, one after the other, and then fails.
type pages struct {
	apitest.Backend
	all   []document.EventPage
	asked *[]string
}

func (p pages) Events(_ context.Context, q view.EventQuery) (document.EventPage, error) {
	n := len(*p.asked)
	*p.asked = append(*p.asked, fmt.Sprintf("after %q, limit %d, target %q", q.After, q.Limit, q.Target))
	if n >= len(p.all) {
		return document.EventPage{}, errFault
	}
	return p.all[n], nil
}

func (p pages) Changed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// TestFollowContinues: a stream starts after the last event that a client names, and continues
// after the events that it has sent. An explicit cursor has priority over the header of a browser
// that connects again.
func TestFollowContinues(t *testing.T) {
	event := func(cursor string) document.Event { return document.Event{Cursor: cursor, Kind: "applied"} }
	all := []document.EventPage{{Events: []document.Event{event("c8"), event("c9")}, Cursor: "c9"}, {Cursor: "c9"},
		{Events: []document.Event{event("c10")}, Cursor: "c10"}}
	for what, c := range map[string]struct{ query, last, first string }{
		"from the end":     {"?target=web1&limit=2", "", `after "", limit 2, target "web1"`},
		"connected again":  {"?target=web1", "c7", `after "c7", limit 0, target "web1"`},
		"explicit cursor":  {"?target=web1&after=c5", "", `after "c5", limit 0, target "web1"`},
		"both":             {"?target=web1&after=c5", "c7", `after "c5", limit 0, target "web1"`},
		"an empty header ": {"?target=web1&after=c5", "", `after "c5", limit 0, target "web1"`},
	} {
		hub, asked := newHub(t), []string{}
		h := hub.Handler()
		h.Table = apitest.Table(pages{hub, all, &asked})
		r := httptest.NewRequest("GET", "http://hub/v1/events/follow"+c.query, nil)
		r.Header.Set("Authorization", "Bearer read")
		if c.last != "" {
			r.Header.Set("Last-Event-ID", c.last)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		rest := `limit 0, target "web1"`
		want := []string{c.first, `after "c9", ` + rest, `after "c9", ` + rest, `after "c10", ` + rest}
		if !slices.Equal(asked, want) {
			t.Errorf("%s: the view is asked for %q, want %q", what, asked, want)
		}
		if lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n"); w.Code != 200 || len(lines) != 3 ||
			!strings.Contains(lines[2], `"c10"`) {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	hub := newHub(t)
	h := hub.Handler()
	h.Table = apitest.Table(pages{hub, nil, &[]string{}})
	if w := ask(h, "GET", "/v1/events/follow", "read", ""); w.Code != 500 ||
		!strings.Contains(w.Body.String(), errFault.Error()) {
		t.Errorf("a view that fails at once: %d %s", w.Code, w.Body)
	}
}

// stored is a backend with stored pages of events and no new events. The question after the last page cancels
// the request.
type stored struct {
	pages
	cancel func()
}

func (s stored) Events(ctx context.Context, q view.EventQuery) (document.EventPage, error) {
	page, err := s.pages.Events(ctx, q)
	if len(*s.asked) == len(s.all) {
		s.cancel()
	}
	return page, err
}

func (stored) Changed() <-chan struct{} { return nil }

// TestFollowWaits: a stream sends all stored events without a change of the view, and then asks for no other
// page until the view changes.
func TestFollowWaits(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	page := document.EventPage{Events: []document.Event{{Cursor: "c1", Kind: "applied"}}, Cursor: "c1"}
	hub, asked := newHub(t), []string{}
	h := hub.Handler()
	h.Table = apitest.Table(stored{pages{hub, []document.EventPage{page, page, {}}, &asked}, cancel})
	r := httptest.NewRequestWithContext(ctx, "GET", "http://hub/v1/events/follow", nil)
	r.Header.Set("Authorization", "Bearer read")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if lines := strings.Count(w.Body.String(), "\n"); len(asked) != 3 || lines != 2 {
		t.Errorf("%d questions, %d events: %s", len(asked), lines, w.Body)
	}
}

// timed is a backend that notes whether its questions have a time limit.
type timed struct {
	apitest.Backend
	limited *[]bool
}

func (b timed) note(ctx context.Context) error {
	_, limited := ctx.Deadline()
	*b.limited = append(*b.limited, limited)
	return errFault
}

func (b timed) Events(ctx context.Context, _ view.EventQuery) (document.EventPage, error) {
	return document.EventPage{}, b.note(ctx)
}

// TestAnswersAreLimited: an answer has a time limit, a stream of events has none.
func TestAnswersAreLimited(t *testing.T) {
	hub, limited := newHub(t), []bool{}
	h := hub.Handler()
	h.Table = apitest.Table(timed{hub, &limited})
	ask(h, "GET", "/v1/events", "read", "")
	ask(h, "GET", "/v1/events/follow", "read", "")
	if !slices.Equal(limited, []bool{true, false}) {
		t.Errorf("limited: an answer, a stream: %v", limited)
	}
}

// TestUnconfirmedStreamsContinue: while the store cannot confirm the rights of a user, an open
// stream stays open until the login expires.
func TestUnconfirmedStreamsContinue(t *testing.T) {
	var calls atomic.Int32
	_, server := bridged(t, func(h *api.Handler) {
		h.Recheck = time.Millisecond
		first := h.Authenticate
		h.Authenticate = func(r *http.Request) (access.Principal, error) {
			if calls.Add(1) == 1 {
				return first(r)
			}
			who := access.NewPrincipal("jane", "test")
			who.Unconfirmed = true
			return who, nil
		}
	})
	stream := upgrade(t, server, "/v1/targets/web1/work", "operate").Body.(interface {
		Write([]byte) (int, error)
		Read([]byte) (int, error)
		Close() error
	})
	defer stream.Close()
	for calls.Load() < 5 {
		if _, err := stream.Write([]byte("x\n")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		if n, err := stream.Read(b); err != nil || string(b[:n]) != "jane true x\n" {
			t.Fatalf("%q, %v", b[:n], err)
		}
	}
}

// TestExplanations: the explanation contains the state of the module on its target.
func TestExplanations(t *testing.T) {
	w := ask(newHub(t).Handler(), "GET", "/v1/targets/web2/modules/web", "read", "")
	var e document.Explanation
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 200 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	if e.Name != "web2" || e.Module != "modules/web" || e.State != fleet.ModuleFailed || e.Since == 0 ||
		e.Assigned.Branch != "main" || e.Applied != strings.Repeat("a", 40) ||
		!e.Behind || e.Error != "cannot restart nginx" || len(e.Needs) != 1 || e.Needs[0].Module != "modules/base" ||
		len(e.NeededBy) != 0 || len(e.Reasons) != 2 {
		t.Errorf("%s", w.Body)
	}
	w = ask(newHub(t).Handler(), "GET", "/v1/targets/web2/modules/base", "read", "")
	e = document.Explanation{}
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 200 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	if len(e.Needs) != 0 || len(e.NeededBy) != 1 || e.NeededBy[0].Module != "modules/web" ||
		e.NeededBy[0].State != fleet.ModuleFailed {
		t.Errorf("a module that another module needs: %s", w.Body)
	}
	for _, name := range []string{"..", "a%20b", "-%00"} {
		if w := ask(newHub(t).Handler(), "GET", "/v1/targets/web2/modules/"+name, "read", ""); w.Code == 200 ||
			w.Code >= 500 {
			t.Errorf("%q: %d", name, w.Code)
		}
	}
}
