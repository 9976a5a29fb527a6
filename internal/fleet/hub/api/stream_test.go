package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestFormsOfStreams: lines of JSON, or server-sent events with the cursor as the ID; each event reaches the
// reader at once.
func TestFormsOfStreams(t *testing.T) {
	e := document.Event{Cursor: "c7"}
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for sent, want := range map[bool]struct{ kind, event, alive string }{
		false: {"application/jsonl", string(text) + "\n", "\n"},
		true:  {"text/event-stream", "id: c7\ndata: " + string(text) + "\n\n", ": \n\n"},
	} {
		for what, write := range map[string]func(s stream) error{
			want.event + want.event: func(s stream) error { return s.events([]document.Event{e, e}) },
			want.alive:              func(s stream) error { return s.alive() },
			"":                      func(s stream) error { s.begin(); return nil },
		} {
			w := httptest.NewRecorder()
			if err := write(stream{w, sent}); err != nil || w.Body.String() != what || !w.Flushed {
				t.Errorf("sent %t: %q, flushed %t, %v; want %q", sent, w.Body, w.Flushed, err, what)
			}
			if kind := w.Header().Get("Content-Type"); what == "" && kind != want.kind {
				t.Errorf("sent %t: %s", sent, kind)
			}
		}
	}
}

var errGone = errors.New("the reader is gone")

type goneWriter struct{ *httptest.ResponseRecorder }

func (goneWriter) Write([]byte) (int, error) { return 0, errGone }
func (goneWriter) FlushError() error         { return errGone }
func (w goneWriter) Unwrap() http.ResponseWriter {
	return w.ResponseRecorder
}

// TestReaderThatIsGone: the stream ends with the first event or empty line that does not reach the
// reader.
func TestReaderThatIsGone(t *testing.T) {
	s := stream{goneWriter{httptest.NewRecorder()}, true}
	for what, err := range map[string]error{"an event": s.events([]document.Event{{}}), "a sign of life": s.alive(),
		"none": s.events(nil)} {
		if !errors.Is(err, errGone) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
