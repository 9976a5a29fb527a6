package content_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"fettle.dev/fettle/internal/fleet/content"
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
