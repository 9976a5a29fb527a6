package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

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

// cutWriter refuses each write, but can be flushed.
type cutWriter struct{ *httptest.ResponseRecorder }

func (cutWriter) Write([]byte) (int, error) { return 0, errGone }

// closes is a stream that counts how often it is closed.
type closes struct {
	io.ReadWriter
	count int
}

func (c *closes) Close() error { c.count++; return nil }

// TestWritesThatFail: a stream ends with the first write that fails, also if the connection can be flushed.
func TestWritesThatFail(t *testing.T) {
	s := stream{cutWriter{httptest.NewRecorder()}, false}
	for what, err := range map[string]error{"an event": s.events([]document.Event{{}}), "a sign of life": s.alive()} {
		if !errors.Is(err, errGone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	near, far := net.Pipe()
	defer near.Close()
	_ = far.Close()
	c := &call{h: &Handler{}, r: httptest.NewRequest("POST", "/", nil)}
	agent := &closes{ReadWriter: &bytes.Buffer{}}
	if err := c.carry(near, bufio.NewReader(near), agent); !errors.Is(err, io.ErrClosedPipe) || agent.count != 1 {
		t.Errorf("a client that is gone: %v; the stream of the agent was closed %d times", err, agent.count)
	}
}

// TestReaderThatDoesNotRead: a write to a connection whose reader takes nothing fails after the limit.
func TestReaderThatDoesNotRead(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	defer near.Close()
	n, err := (&patient{near, time.Millisecond}).Write([]byte("text"))
	if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
}
