package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
)

// TestBackendsThatFail: if any call of a backend fails, the route fails with the reason, and the
// audit log contains it as the outcome.
func TestBackendsThatFail(t *testing.T) {
	tried := 0
	for _, q := range requests {
		method, path, _ := strings.Cut(q.route, " ")
		if strings.HasSuffix(path, "/look") || strings.HasSuffix(path, "/work") || strings.HasSuffix(path, "/follow") {
			continue // a stream has begun by then
		}
		for at := 1; ; at++ {
			calls := 0
			hub := newHub(t)
			h := hub.Handler()
			h.Table = apitest.Table(faulty{hub, at, &calls})
			h.Metrics = http.NotFoundHandler()
			w := ask(h, method, q.path, "admin", q.body)
			if calls < at {
				break
			}
			tried++
			var p document.Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusInternalServerError ||
				!strings.Contains(p.Detail, errFault.Error()) {
				t.Errorf("%s, call %d of the backend failed: %d %s", q.route, at, w.Code, w.Body)
			}
			if acts := hub.Acts(); method == "POST" && (len(acts) != 2 || !strings.HasSuffix(acts[1], errFault.Error())) {
				t.Errorf("%s, call %d of the backend failed, and the audit log has %q", q.route, at, acts)
			}
		}
	}
	if own := len(requests) - len(apitest.Examples(newHub(t))); tried < own*2/3 {
		t.Errorf("only %d calls were made to fail", tried)
	}
}

// TestFormatsOfAnswers: each document of an answer has its format, and empty lists are present.
func TestFormatsOfAnswers(t *testing.T) {
	hub := newHub(t)
	for _, q := range requests {
		method, path, _ := strings.Cut(q.route, " ")
		row := rowOf(q.route)
		if row.Stream || row.Upgrade || path == "/v1/openapi.json" {
			continue
		}
		w := ask(hub.Handler(), method, q.path, "admin", q.body)
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
			continue // those of text
		}
		var has struct {
			Format string `json:"format"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &has); err != nil || !strings.HasPrefix(has.Format, "fettle.") {
			t.Errorf("%s has the format %q: %v", q.route, has.Format, err)
		}
		if strings.Contains(w.Body.String(), `s":null`) {
			t.Errorf("%s has a list that is null: %s", q.route, w.Body)
		}
	}
}

// TestRequestsThatAreWrong: a job is checked before the backend gets it.
func TestRequestsThatAreWrong(t *testing.T) {
	const day = 24 * 3600 * 1_000_000_000
	for body, want := range map[string]int{
		`{"what":"apply","select":["web*"]}`:                                               200,
		`{"what":"dance","select":["web*"]}`:                                               400,
		`{"what":"apply"}`:                                                                 400,
		`{"what":"apply","select":["db1"]}`:                                                409,
		`{"what":"apply","select":["nobody"]}`:                                             400,
		`{"what":"run","select":["web*"]}`:                                                 400,
		`{"what":"run","select":["web*"],"run":{}}`:                                        400,
		`{"what":"run","select":["web*"],"run":{"argv":["true"]}}`:                         200,
		`{"what":"apply","select":["web*"],"run":{"argv":["true"]}}`:                       400,
		fmt.Sprintf(`{"what":"apply","select":["web*"],"expires_ns":%d}`, int64(90*day)):   200,
		fmt.Sprintf(`{"what":"apply","select":["web*"],"expires_ns":%d}`, int64(90*day+1)): 400,
		`{"what":"apply","select":["web*"],"expires_ns":-1}`:                               400,
	} {
		if w := ask(newHub(t).Handler(), "POST", "/v1/jobs", "admin", body); w.Code != want {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
}

// TestPathsAndMethods: only an authenticated client learns the methods of a path.
func TestPathsAndMethods(t *testing.T) {
	h := newHub(t).Handler()
	for path, allow := range map[string]string{"/v1/tokens": "GET, POST", "/v1/status": "GET", "/v1/nothing": "",
		"/v1//status": ""} {
		w := ask(h, "DELETE", path, "read", "")
		want := http.StatusMethodNotAllowed
		switch path {
		case "/v1/nothing":
			want = http.StatusNotFound
		case "/v1//status":
			want = http.StatusBadRequest
		}
		if got := w.Header().Get("Allow"); w.Code != want && w.Code != http.StatusNotFound || !sameMethods(got, allow) {
			t.Errorf("%s: %d, %q is allowed, want %d and %q", path, w.Code, got, want, allow)
		}
		if w := ask(h, "DELETE", path, "", ""); w.Code != http.StatusUnauthorized || w.Header().Get("Allow") != "" {
			t.Errorf("%s tells a stranger %d %q", path, w.Code, w.Header().Get("Allow"))
		}
		if _, has := w.Header()["Allow"]; has && allow == "" {
			t.Errorf("%s: there is an empty list of methods", path)
		}
	}
}

func sameMethods(a, b string) bool {
	x, y := strings.Split(a, ", "), strings.Split(b, ", ")
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// TestAnswersThatAreLost: if the store does not answer, the result of a change is unknown. The
// problem states why changes are impossible now.
func TestAnswersThatAreLost(t *testing.T) {
	for _, later := range []error{nil, &api.Refusal{Status: http.StatusConflict, Why: "two of three hubs are away"}} {
		hub := newHub(t)
		h := hub.Handler()
		h.Table = apitest.Table(silent{hub})
		asked := 0
		h.MayChange = func() error {
			if asked++; asked == 1 {
				return nil
			}
			return later
		}
		w := ask(h, "POST", "/v1/targets/web1/freeze", "admin", `{"reason":"x"}`)
		if said := strings.Contains(w.Body.String(),
			"The hub has checked: two of three hubs are away"); w.Code != http.StatusGatewayTimeout ||
			said != (later != nil) || !strings.Contains(w.Body.String(), "The result is unknown") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	hub := newHub(t)
	h := hub.Handler()
	h.MayChange = func() error { return &api.Refusal{Status: http.StatusConflict, Why: "two of three hubs are away"} }
	if w := ask(h, "POST", "/v1/targets/web1/freeze", "admin", `{"reason":"x"}`); w.Code != http.StatusConflict ||
		len(hub.Acts()) != 2 {
		t.Errorf("%d %s, %q", w.Code, w.Body, hub.Acts())
	}
}

// silent is a backend whose store does not answer to a freeze.
type silent struct{ apitest.Backend }

func (silent) Freeze(context.Context, access.Principal, fleet.TargetID, document.FreezeRequest) error {
	return fmt.Errorf("cannot freeze: %w", fleet.ErrNoAnswer)
}

// TestMetricsThatAreNone: a hub without metrics answers with an error.
func TestMetricsThatAreNone(t *testing.T) {
	h := newHub(t).Handler()
	h.Metrics = nil
	if w := ask(h, "GET", "/metrics", "admin", ""); w.Code != http.StatusNotFound ||
		!strings.Contains(w.Body.String(), "There are no metrics") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
