package content_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/repo"
)

// histories is a server whose histories the test reads.
type histories struct {
	*content.Histories
	reads atomic.Int32
	now   atomic.Int64
	next  chan error // the result of each read
}

func newHistories(t *testing.T, wait time.Duration) *histories {
	t.Helper()
	h := &histories{next: make(chan error, 100)}
	h.Histories = &content.Histories{
		Source: func() content.Source { return content.Source{} }, Warn: func(string) {}, Wait: wait,
		Now: func() time.Time { return time.Unix(h.now.Load(), 0) },
		Client: func(r *http.Request) (string, func(string) bool) {
			if r.Header.Get("Target") == "" {
				return "", nil
			}
			return r.Header.Get("Target"), func(commit string) bool { return commit != absent }
		},
		Read: func(ctx context.Context, _ string, _ content.Source, commit string, accepted []string) ([]byte, error) {
			h.reads.Add(1)
			select {
			case err := <-h.next:
				return []byte(commit + strings.Join(accepted, "")), err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *histories) get(path string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header.Set("Target", "web1")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// A request is answered with the history, which is read once for all targets. Clients without
// rights, and commits that are not assigned, get nothing.
func TestHistoriesAreServed(t *testing.T) {
	h := newHistories(t, time.Minute)
	a, b := strings.Repeat("a", 40), strings.Repeat("b", 40)
	at := content.HistoryPath + a + "?accepted=" + b
	h.next <- nil
	for range 3 {
		if w := h.get(at); w.Code != 200 || w.Body.String() != a+b || w.Header().Get(content.HistoryHeader) == "" {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if n := h.reads.Load(); n != 1 {
		t.Errorf("it was read %d times", n)
	}
	for path, want := range map[string]int{
		content.HistoryPath + absent + "?accepted=" + b:                                  404,
		content.HistoryPath + "main":                                                     404,
		content.HistoryPath + a + "?accepted=x":                                          404,
		content.HistoryPath + a + "?accepted=" + b + "&accepted=" + b + "&accepted=" + b: 404,
		content.HistoryPath + a + "?other=" + b:                                          404,
		content.HistoryPath + a + "?accepted=" + b + "&other=" + b:                       404,
	} {
		if w := h.get(path); w.Code != want || w.Header().Get(content.HistoryHeader) == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
	if w.Code != 403 {
		t.Errorf("without rights: %d", w.Code)
	}
}

// A history that is not ready is not lost: the work continues, and a later request gets it.
func TestHistoriesTakeTheirTime(t *testing.T) {
	h := newHistories(t, time.Nanosecond)
	at := content.HistoryPath + strings.Repeat("a", 40)
	if w := h.get(at); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	h.next <- nil
	h.Wait = time.Minute
	if w := h.get(at); w.Code != 200 || h.reads.Load() != 1 {
		t.Errorf("%d %s, %d reads", w.Code, w.Body, h.reads.Load())
	}
}

// Failures are reported without names of the hub's files, and tried again after some time.
func TestHistoriesThatFail(t *testing.T) {
	h := newHistories(t, time.Minute)
	at := content.HistoryPath + strings.Repeat("a", 40)
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{errors.New("cannot fetch from file:///secret"), 503, "cannot read the repository"},
		{repo.ErrLongHistory, 422, "too many commits"},
		{repo.ErrNoCommit, 422, "does not have the commit"},
		{nil, 200, "aaaa"},
	} {
		h.next <- c.err
		for range 2 {
			if w := h.get(at); w.Code != c.code || !strings.Contains(w.Body.String(), c.text) ||
				strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%v: %d %s", c.err, w.Code, w.Body)
			}
		}
		h.now.Add(31)
	}
	if n := h.reads.Load(); n != 4 {
		t.Errorf("%d reads", n)
	}
}

// One target cannot have more than two concurrent requests.
func TestHistoriesOfOneClient(t *testing.T) {
	h := newHistories(t, time.Minute)
	at := content.HistoryPath + strings.Repeat("a", 40)
	codes := make(chan int, 3)
	for range 3 {
		go func() { codes <- h.get(at).Code }()
	}
	if code := <-codes; code != 503 {
		t.Errorf("the third: %d", code)
	}
	h.next <- nil
	if a, b := <-codes, <-codes; a != 200 || b != 200 {
		t.Errorf("%d, %d", a, b)
	}
}

// With git: a branch that was rewritten, and an accepted commit that the server no longer has.
func TestHistoriesFromGit(t *testing.T) {
	g := site(t)
	var line string
	g.key, line = newKey(t, "ed25519")
	first, second := g.commit("first"), g.commit("second")
	src, dir := content.Source{Name: "site", URL: "file://" + g.dir}, t.TempDir()
	read := func(commit string, accepted ...string) error {
		text, err := content.ReadFrom(t.Context(), dir, src, commit, accepted)
		if err != nil {
			t.Fatal(err)
		}
		h, err := content.ReadHistory(bytes.NewReader(text), commit)
		if err != nil {
			t.Fatal(err)
		}
		l := content.Lineage{Commit: commit, Part: accepted[0]}
		return content.VerifyHistory(h, l, content.Descent{Signed: true, Descends: true},
			content.Trust{Signers: signers(t, line), Now: now})
	}
	if err := read(second, first); err != nil {
		t.Error(err)
	}
	g.git("reset", "-q", "--hard", first)
	third := g.commit("third")
	wantErr(t, read(third, second), "does not show that it descends from "+second[:12])
	wantErr(t, read(third, absent), "does not show that it descends from "+absent[:12])
	if err := read(third, first); err != nil {
		t.Error(err)
	}
}
