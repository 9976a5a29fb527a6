package contents_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/content"
)

// start is the time of the tests.
var start = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// get requests a path as a client, and returns the status and the body.
func get(t *testing.T, h http.Handler, as *tls.ConnectionState, path string) (int, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.TLS = as
	out := httptest.NewRecorder()
	h.ServeHTTP(out, r)
	return out.Code, out.Body.String()
}

// assigned returns a fleet with two targets with assignments. All content is stored.
func assigned(t *testing.T) (w *world, of map[string]fleet.Bundle) {
	t.Helper()
	w = newFleet(t, start)
	of = map[string]fleet.Bundle{"missing": w.bundle("missing")}
	for _, text := range []string{"root", "module", "proof", "binary", "other", "unused"} {
		of[text] = add(t, w.Store, text)
	}
	proof := of["proof"]
	w.assigns(bustest.ID(1), of["root"],
		&fleet.Binary{Version: "1", Files: map[string]fleet.Bundle{"amd64": of["binary"]}},
		fleet.Assigned{Module: "modules/a", Bundle: of["module"], Proof: &proof},
		fleet.Assigned{Module: "modules/b", Bundle: of["missing"]})
	w.assigns(bustest.ID(2), of["other"], nil)
	return w, of
}

// TestReaders: a target reads the content of its assignment, a member of the fleet reads all content, and
// other clients read nothing.
func TestReaders(t *testing.T) {
	w, of := assigned(t)
	w.suspect = bustest.ID(9)
	w.assigns(w.suspect, of["root"], nil)
	const ok, denied, missing = http.StatusOK, http.StatusForbidden, http.StatusNotFound
	for _, c := range []struct {
		who  string
		as   *tls.ConnectionState
		want map[string]int
	}{
		{"a target", w.target(bustest.ID(1)), map[string]int{"root": ok, "module": ok, "proof": ok, "binary": ok,
			"other": missing, "unused": missing, "missing": missing}},
		{"another target", w.target(bustest.ID(2)), map[string]int{"other": ok, "root": missing, "binary": missing}},
		{"a target without an assignment", w.target(bustest.ID(3)), map[string]int{"root": missing}},
		{"a suspect target", w.target(w.suspect), map[string]int{"root": denied}},
		{"a member", w.hub("hub2"), map[string]int{"root": ok, "unused": ok, "missing": missing}},
		{"a former member", w.hub("hub3"), map[string]int{"root": missing}},
		{"a target of another fleet", newFleet(t, start).target(bustest.ID(1)), map[string]int{"root": denied}},
		{"a user", w.user("ann"), map[string]int{"root": denied}},
		{"a client without a certificate", &tls.ConnectionState{}, map[string]int{"root": denied}},
		{"a client without TLS", nil, map[string]int{"root": denied}},
	} {
		for text, want := range c.want {
			status, body := get(t, w.Server, c.as, content.Path+of[text].Digest)
			if status != want || want == ok && body != text {
				t.Errorf("%s reads %s: %d %q, want %d", c.who, text, status, body, want)
			}
		}
	}
}

// TestReaderAtAnotherTime: an expired certificate is refused, and so are all clients while the hub cannot
// verify certificates.
func TestReaderAtAnotherTime(t *testing.T) {
	w, of := assigned(t)
	as := w.target(bustest.ID(1))
	for _, path := range []string{content.Path + of["root"].Digest, content.HistoryPath + commit} {
		h := http.Handler(w.Server)
		if strings.HasPrefix(path, content.HistoryPath) {
			h = w.Histories
		}
		w.noTrust = errors.New("the list of hubs is not readable")
		if status, _ := get(t, h, as, path); status != http.StatusForbidden {
			t.Errorf("%s without trust: %d", path, status)
		}
		w.noTrust, w.now = nil, start.Add(10*365*24*time.Hour)
		if status, _ := get(t, h, as, path); status != http.StatusForbidden {
			t.Errorf("%s with an expired certificate: %d", path, status)
		}
		w.now = start
	}
}

// TestContentOverTheBus: a target gets the content of its assignment. The error for the content of another
// target is the same as for content that does not exist.
func TestContentOverTheBus(t *testing.T) {
	w, of := assigned(t)
	ask := func(id fleet.TargetID, digest string) error {
		b, err := w.OnContent(t.Context(), id, []byte(digest))
		if (len(b) > 0) != (err == nil) {
			t.Errorf("%s gets %d bytes, %v", id, len(b), err)
		}
		return err
	}
	for _, text := range []string{"root", "module", "proof", "binary"} {
		if err := ask(bustest.ID(1), of[text].Digest); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	other, none := ask(bustest.ID(1), of["other"].Digest), ask(bustest.ID(1), w.bundle("none").Digest)
	if !errors.Is(other, fleet.ErrNotFound) || none == nil || other.Error() != none.Error() {
		t.Errorf("content of another target: %v\nno content: %v", other, none)
	}
	if err := ask(bustest.ID(1), of["missing"].Digest); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("content that this hub does not have yet: %v", err)
	}
	for _, digest := range []string{"", "root", "../" + of["root"].Digest, of["root"].Digest + "0"} {
		if err := ask(bustest.ID(1), digest); err == nil || errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("the digest %q: %v", digest, err)
		}
	}
	w.suspect = bustest.ID(1)
	if err := ask(bustest.ID(1), of["root"].Digest); !errors.Is(err, errSuspect) {
		t.Errorf("a suspect target: %v", err)
	}
}

// TestReadersOfHistories: a target reads only the histories of its commits.
func TestReadersOfHistories(t *testing.T) {
	w, _ := assigned(t)
	go func() { _ = w.Histories.Run(t.Context()) }()
	w.suspect = bustest.ID(9)
	w.assigns(w.suspect, fleet.Bundle{}, nil)
	other := strings.Repeat("a", 40)
	for _, c := range []struct {
		who    string
		as     *tls.ConnectionState
		commit string
		want   int
	}{
		{"a target", w.target(bustest.ID(1)), commit, http.StatusOK},
		{"a target", w.target(bustest.ID(1)), other, http.StatusNotFound},
		{"a target without an assignment", w.target(bustest.ID(3)), commit, http.StatusNotFound},
		{"a suspect target", w.target(w.suspect), commit, http.StatusForbidden},
		{"a member", w.hub("hub2"), commit, http.StatusForbidden},
		{"a user", w.user("ann"), commit, http.StatusForbidden},
		{"a client without TLS", nil, commit, http.StatusForbidden},
	} {
		status, body := get(t, w.Histories, c.as, content.HistoryPath+c.commit)
		if status != c.want || status == http.StatusOK && body != "history of "+commit {
			t.Errorf("%s reads the history of %s: %d %q, want %d", c.who, c.commit, status, body, c.want)
		}
	}
}
