package content_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
)

// TestLeastIsCollected: a collection removes only as much as necessary, oldest first.
func TestLeastIsCollected(t *testing.T) {
	s := memStore(t, 30)
	a := mustAdd(t, s, strings.Repeat("a", 10))
	b := mustAdd(t, s, strings.Repeat("b", 10))
	none := func(string) bool { return false }
	if freed, err := s.Collect(none, 10); freed != 0 || err != nil || !s.Has(a) || !s.Has(b) {
		t.Errorf("%d bytes are removed, although there is room: %v", freed, err)
	}
	if freed, err := s.Collect(none, 11); freed != 10 || err != nil || s.Has(a) == s.Has(b) {
		t.Errorf("%d bytes are removed for one byte: %v", freed, err)
	}
}

// TestOldestIsCollectedFirst: the age decides, and not the digest. Interrupted downloads go first.
func TestOldestIsCollectedFirst(t *testing.T) {
	s := memStore(t, 50)
	var all []fleet.Bundle
	for _, letter := range []string{"a", "b", "c", "d"} {
		all = append(all, mustAdd(t, s, strings.Repeat(letter, 10)))
	}
	p, err := s.Begin(nameOf(strings.Repeat("e", 10)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(p, "eee")
	if err = errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	none := func(string) bool { return false }
	if freed, err := s.Collect(none, 10); freed != 3 || err != nil {
		t.Errorf("%d bytes are removed, and 3 bytes of the interrupted download suffice: %v", freed, err)
	}
	for i, old := range all {
		if freed, err := s.Collect(none, int64(20+10*i)); freed != 10 || err != nil || s.Has(old) {
			t.Errorf("%d bytes are removed, and the oldest content stays: %v", freed, err)
		}
	}
}

// TestRepeatedRemoval: content whose file is gone already counts as removed.
func TestRepeatedRemoval(t *testing.T) {
	stores(t, func(t *testing.T, open func(int64) *content.Store, files host.FS) {
		s := open(0)
		b := mustAdd(t, s, "some content")
		if err := files.Remove("/content/" + strings.TrimPrefix(b.Digest, "sha256:")); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := s.Remove(b); err != nil || s.Has(b) {
				t.Errorf("%v; it is still there: %t", err, s.Has(b))
			}
		}
	})
}

// TestBrokenHook: a webhook whose body ends too early proves nothing.
func TestBrokenHook(t *testing.T) {
	const secret = "a secret of 16 bytes"
	whole := []byte(`{"ref":"main"}`)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(whole)
	for _, cut := range []bool{false, true} {
		poked := false
		h := content.Hooks{Secret: func(string) []byte { return []byte(secret) }, Poke: func(string) { poked = true }}
		var body io.Reader = bytes.NewReader(whole)
		if cut {
			body = io.MultiReader(body, iotest.ErrReader(errors.New("connection reset")))
		}
		r := httptest.NewRequest(http.MethodPost, content.HookPath+"site", body)
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if poked == cut || (w.Code == http.StatusNoContent) == cut {
			t.Errorf("with an early end %t: %d, due %t", cut, w.Code, poked)
		}
	}
}

// TestTidyOfNoSource: a source that a hub does not follow has nothing to remove, and a bad mirror is an error.
func TestTidyOfNoSource(t *testing.T) {
	s := &content.Sources{Dir: t.TempDir()}
	if err := s.Tidy(t.Context(), "site", func(string) bool { return true }); err != nil {
		t.Error(err)
	}
}

// TestSignerOfNoCommit: a proof of another commit, or of none, has no signer.
func TestSignerOfNoCommit(t *testing.T) {
	for _, commit := range []string{"", "main", strings.Repeat("g", 40), strings.Repeat("a", 39)} {
		if got := (content.Proof{}).Signer(commit); got != "" {
			t.Errorf("%q is signed by %q", commit, got)
		}
	}
}

// TestUnreadableHistory: an error of the connection is not the end of a history, so it is reported as it is.
func TestUnreadableHistory(t *testing.T) {
	broken := errors.New("connection reset")
	const begin = "fettle.history/1\n"
	for _, beginning := range []string{"", begin, begin + "\x00\x00", begin + "\x00\x00\x00\x09tree"} {
		in := io.MultiReader(strings.NewReader(beginning), iotest.ErrReader(broken))
		_, err := content.ReadHistory(in, strings.Repeat("a", 40))
		if !errors.Is(err, broken) {
			t.Errorf("after %q: %v", beginning, err)
		}
	}
}

// TestStoppedHub: a hub that stops tells the agent to ask again.
func TestStoppedHub(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	reading := make(chan struct{})
	h := &content.Histories{Now: time.Now, Warn: func(string) {},
		Source: func() content.Source { return content.Source{} },
		Client: func(*http.Request) (string, func(string) bool) { return "web1", func(string) bool { return true } },
		Read: func(ctx context.Context, _ string, _ content.Source, _ string, _ []string) ([]byte, error) {
			close(reading)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	go func() { <-reading; stop() }()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, content.HistoryPath+strings.Repeat("a", 40), nil))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "the hub is stopping") || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
