package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/fleet/view"
)

// TestStatusesOfErrors: each error has the status on which a client acts, its text, and a next
// step. The status of a refusal is between 400 and 499.
func TestStatusesOfErrors(t *testing.T) {
	for what, c := range map[string]struct {
		err    error
		status int
		title  string
	}{
		"a selection":   {view.ErrQuery, 400, "The request is wrong"},
		"unknown":       {fleet.ErrNotFound, 404, "The object does not exist"},
		"a conflict":    {fleet.ErrConflict, 409, "Another change was faster"},
		"denied":        {fleet.ErrDenied, 403, "Not allowed"},
		"offline":       {fleet.ErrOffline, 503, "The target is not connected"},
		"no hub":        {fleet.ErrNoHub, 503, "No hub answers"},
		"no answer":     {fleet.ErrNoAnswer, 504, "The store does not answer"},
		"late":          {context.DeadlineExceeded, 504, "The operation took too long"},
		"another":       {errors.New("boom"), 500, "The hub cannot do this"},
		"a refusal":     {&Refusal{409, "no", "wait"}, 409, "The request is refused"},
		"a low status":  {&Refusal{200, "no", "wait"}, 400, "The request is refused"},
		"a high status": {&Refusal{500, "no", "wait"}, 499, "The request is refused"},
		"a problem":     {fail(418, "A teapot", "it is one", "wait"), 418, "A teapot"},
	} {
		p := problemOf(fmt.Errorf("cannot do it: %w", c.err))
		if p.Status != c.status || p.Title != c.title || p.Hint == "" || p.Detail == "" || c.status == 500 &&
			!strings.Contains(p.Detail, "boom") {
			t.Errorf("%s: %+v", what, p)
		}
	}
}

// deciding is a handler without a hub, with one user with the right operate.
func deciding(change func(h *Handler)) (h *Handler, noted *[]string) {
	noted = &[]string{}
	h = &Handler{
		Table: NewTable(nil),
		Authenticate: func(*http.Request) (access.Principal, error) {
			return access.NewPrincipal("jane", "test", access.Operator), nil
		},
		Audit: func(_ context.Context, e access.Entry) error {
			*noted = append(*noted, e.Outcome+"|"+e.Reason)
			return nil
		},
	}
	HandlePost(h.Table, route.CreateToken(),
		func(context.Context, Caller, document.TokenRequest) (d document.NewToken, err error) { return d, nil })
	HandleStatus(h.Table, nil, nil)
	change(h)
	return h, noted
}

// changing calls a route that changes something and ends with err.
func changing(h *Handler, err error) (done int, w *httptest.ResponseRecorder) {
	w = httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/v1/x", strings.NewReader(`{"reason":"why"}`))
	r.Header.Set("Content-Type", "application/json")
	c := &call{h: h, w: w, r: r, route: row{
		route.Row{Method: http.MethodPost, Path: "/v1/x", Right: access.Operate, In: document.ReasonRequest{}},
		func(*call) (any, error) { done++; return document.Done{}, err }}}
	answer, err := c.run()
	if err != nil {
		c.problem(err)
	} else {
		c.document(http.StatusOK, "application/json", answer)
	}
	return done, w
}

// TestChanges: a change is recorded before and after it. It is refused at once while hubs are
// missing. If its result is unknown or a conflict, the problem names the missing hubs.
func TestChanges(t *testing.T) {
	away := errors.New("hub2 and hub3 are away")
	asked := 0
	later := func() error {
		if asked++; asked > 1 {
			return away
		}
		return nil
	}
	never := func() error { return nil }
	missing := func(context.Context) error { return errors.New("hub2 does not answer") }
	for what, c := range map[string]struct {
		change func(h *Handler)
		err    error
		done   int
		status int
		says   string
		noted  string
	}{
		"done":   {func(*Handler) {}, nil, 1, 200, "{", `begun|{"reason":"why"} done|`},
		"failed": {func(*Handler) {}, errors.New("boom"), 1, 500, "boom", `begun|{"reason":"why"} boom|`},
		"no log": {func(h *Handler) {
			h.Audit = func(context.Context,
				access.Entry) error {
				return errors.New("full")
			}
		}, nil, 0, 503, "cannot write the audit log: full", ""},
		"no log at all": {func(h *Handler) { h.Audit = nil }, nil, 0, 503, "cannot write the audit log", ""},
		"hubs are away": {func(h *Handler) { h.MayChange = func() error { return away } }, nil, 0, 500,
			"hub2 and hub3", `begun|{"reason":"why"} hub2 and hub3 are away|`},
		"may change": {func(h *Handler) { h.MayChange = never }, nil, 1, 200, "{",
			`begun|{"reason":"why"} done|`},
		"lost": {func(h *Handler) { h.MayChange = never }, fleet.ErrNoAnswer, 1, 504,
			"The result is unknown", ""},
		"lost, hubs are away": {func(h *Handler) { asked, h.MayChange = 0, later }, fleet.ErrNoAnswer, 1, 504,
			"The hub has checked: hub2 and hub3 are away", ""},
		"lost, a hub is frozen": {func(h *Handler) { h.MayChange, h.Missing = never, missing }, fleet.ErrNoAnswer, 1,
			504, "The hub has checked: hub2 does not answer", ""},
		"conflict": {func(h *Handler) { h.MayChange = never }, fleet.ErrConflict, 1, 409,
			"Another change was faster", ""},
		"conflict, hubs are away": {func(h *Handler) { asked, h.MayChange = 0, later }, fleet.ErrConflict, 1, 409,
			"An earlier change is not finished", ""},
		"conflict, hub is frozen": {func(h *Handler) { h.MayChange, h.Missing = never, missing }, fleet.ErrConflict, 1,
			409, "hub2 does not answer", ""},
		"unknown, without a store": {func(*Handler) {}, fleet.ErrNoAnswer, 1, 504, "The store does not answer", ""},
	} {
		h, noted := deciding(c.change)
		done, w := changing(h, c.err)
		if done != c.done || w.Code != c.status || !strings.Contains(w.Body.String(), c.says) ||
			strings.Contains(w.Body.String(), "The hub has checked") && !strings.Contains(c.says, "The hub has checked") {
			t.Errorf("%s: done %d times, %d %s", what, done, w.Code, w.Body)
		}
		if kind := w.Header().Get("Content-Type"); (kind == "application/json") != (c.status == 200) || c.status != 200 &&
			kind != "application/problem+json" {
			t.Errorf("%s: a document of the type %s", what, kind)
		}
		if got := strings.Join(*noted, " "); c.noted != "" && got != c.noted {
			t.Errorf("%s: recorded %s, want %s", what, got, c.noted)
		}
	}
}

// TestUsersWithoutAConfirmedRight: if rights cannot be confirmed, the answer does not claim that
// they are missing.
func TestUsersWithoutAConfirmedRight(t *testing.T) {
	for what, c := range map[string]struct {
		change func(h *Handler, who *access.Principal)
		status int
		says   []string
	}{
		"no right": {func(*Handler, *access.Principal) {}, 403,
			[]string{`needs the right \"admin\", which jane does not have`}},
		"unconfirmed": {func(_ *Handler, w *access.Principal) { w.Unconfirmed = true }, 503,
			[]string{"cannot confirm now that jane has it", "fettle hub list"}},
		"unconfirmed, why": {func(h *Handler, w *access.Principal) {
			w.Unconfirmed, h.MayChange = true, func() error { return errors.New("hub2 is away") }
		}, 503, []string{"jane has it. hub2 is away"}},
		"unconfirmed, can": {func(h *Handler, w *access.Principal) {
			w.Unconfirmed, h.MayChange = true, func() error { return nil }
		}, 503, []string{"jane has it\""}},
	} {
		h, noted := deciding(func(*Handler) {})
		who, _ := h.Authenticate(nil)
		c.change(h, &who)
		h.Authenticate = func(*http.Request) (access.Principal, error) { return who, nil }
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/tokens", nil))
		for _, says := range c.says {
			if w.Code != c.status || !strings.Contains(w.Body.String(), says) || len(*noted) != 1 {
				t.Errorf("%s: %d %s, recorded %q", what, w.Code, w.Body, *noted)
			}
		}
	}
	h, _ := deciding(func(h *Handler) {
		h.Authenticate = func(*http.Request) (access.Principal, error) {
			return access.Principal{}, fmt.Errorf("cannot know: %w", fleet.ErrNoAnswer)
		}
	})
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/status", nil)); w.Code != http.StatusGatewayTimeout ||
		w.Header().Get("WWW-Authenticate") != "" {
		t.Errorf("a store that does not answer: %d %s", w.Code, w.Body)
	}
	h.Authenticate = func(*http.Request) (access.Principal, error) { return access.Principal{}, nil }
	w = httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/status", nil)); w.Code != 401 ||
		!strings.Contains(w.Body.String(), "it has no certificate and no token") {
		t.Errorf("nobody: %d %s", w.Code, w.Body)
	}
}
