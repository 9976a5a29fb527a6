package content_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/content"
)

// hubs answers requests of a Fetcher, and records them.
type hubs struct {
	answers  []*http.Response // in order; further requests get 404
	requests []*http.Request
}

func (h *hubs) RoundTrip(r *http.Request) (*http.Response, error) {
	h.requests = append(h.requests, r)
	if len(h.answers) < len(h.requests) {
		return answer(http.StatusNotFound, "there is no such content"), nil
	}
	return h.answers[len(h.requests)-1], nil
}

func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// TestRequestsForContent: the first request asks for compressed content. A request after an interrupted
// download asks for the missing bytes of the same content.
func TestRequestsForContent(t *testing.T) {
	const text = "0123456789"
	want := nameOf(text)
	h := &hubs{answers: []*http.Response{answer(http.StatusOK, text[:1]),
		answer(http.StatusPartialContent, text[1:7], "Content-Range", "bytes 1-9/10"),
		answer(http.StatusPartialContent, text[7:], "Content-Range", "bytes 7-9/10")}}
	agent := memStore(t, 0)
	f := fetcher(agent, "https://hub.example.org/")
	f.Transport = h
	if err := f.Fetch(t.Context(), want); err != nil || read(t, agent, want) != text {
		t.Fatal(err)
	}
	if len(h.requests) != 3 {
		t.Fatalf("%d requests", len(h.requests))
	}
	for i, offset := range []int{0, 1, 7} {
		r := h.requests[i]
		if url := r.URL.String(); url != "https://hub.example.org"+content.Path+want.Digest || r.Method != http.MethodGet {
			t.Errorf("request %d: %s %s", i, r.Method, url)
		}
		encoding, missing, match := "zstd", "", ""
		if offset > 0 {
			encoding, missing, match = "identity", fmt.Sprintf("bytes=%d-", offset), `"`+want.Digest+`"`
		}
		if r.Header.Get("Accept-Encoding") != encoding || r.Header.Get("Range") != missing ||
			r.Header.Get("If-Range") != match {
			t.Errorf("request %d: %v", i, r.Header)
		}
	}
}

// TestAnswersToARange: an answer that does not fit the request is an error, and the received bytes stay.
// An answer with the whole content replaces them.
func TestAnswersToARange(t *testing.T) {
	const text = "0123456789"
	packed := string(content.CompressForTest(text))
	for what, c := range map[string]struct {
		answer *http.Response
		err    string
	}{
		"the whole content":             {answer(http.StatusOK, text), ""},
		"the whole content, compressed": {answer(http.StatusOK, packed, "Content-Encoding", "zstd"), ""},
		"the rest":                      {answer(http.StatusPartialContent, text[4:], "Content-Range", "bytes 4-9/10"), ""},
		"the rest, by name": {answer(http.StatusPartialContent, text[4:], "Content-Range", "bytes 4-9/10",
			"Content-Encoding", "identity"), ""},
		"a different range": {answer(http.StatusPartialContent, text[5:], "Content-Range", "bytes 5-9/10"),
			"a different range"},
		"no range": {answer(http.StatusPartialContent, text[4:]), "a different range"},
		"a compressed range": {answer(http.StatusPartialContent, packed, "Content-Range", "bytes 4-9/10",
			"Content-Encoding", "zstd"), "a range of compressed content"},
		"an unknown encoding": {answer(http.StatusOK, text, "Content-Encoding", "br"), `the encoding "br"`},
		"a part":              {answer(http.StatusOK, text[:9]), "it ended after 9 of 10 bytes"},
		"a status":            {answer(http.StatusTeapot, " short and stout\n"), `it answered 418 "short and stout"`},
	} {
		h := &hubs{answers: []*http.Response{answer(http.StatusOK, text[:4]), c.answer}}
		agent := memStore(t, 0)
		f := fetcher(agent, "https://hub.example.org")
		f.Transport, f.Attempts = h, 1
		wantErr(t, f.Fetch(t.Context(), nameOf(text)), "it ended after 4 of 10 bytes")
		err := f.Fetch(t.Context(), nameOf(text))
		if c.err != "" {
			wantErr(t, err, c.err, "https://hub.example.org: ")
		} else if err != nil || read(t, agent, nameOf(text)) != text {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTooMuchContent: a hub that sends more than was asked for is not asked again.
func TestTooMuchContent(t *testing.T) {
	const text = "0123456789"
	var all []*http.Response
	for range 9 {
		all = append(all, answer(http.StatusOK, text+"x"))
	}
	h := &hubs{answers: all}
	f := fetcher(memStore(t, 0), "https://hub.example.org")
	f.Transport = h
	wantErr(t, f.Fetch(t.Context(), nameOf(text)), "all servers delivered wrong content")
	if len(h.requests) != 2 {
		t.Errorf("%d requests, want a second one for all of the content", len(h.requests))
	}
}

// TestFetchEndsInAPause: the end of the context also ends the pause between two rounds.
func TestFetchEndsInAPause(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	f := fetcher(memStore(t, 0), serve(t, http.HandlerFunc(http.NotFound)))
	f.Pause = 24 * time.Hour
	time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
	if err := f.Fetch(ctx, nameOf("x")); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// TestNotAnAddress: the address of a server that cannot be parsed is the reason of the failure, also of empty content.
func TestNotAnAddress(t *testing.T) {
	for _, text := range []string{"", "x"} {
		err := fetcher(memStore(t, 0), "https://%zz").Fetch(t.Context(), nameOf(text))
		wantErr(t, err, "https://%zz", "invalid URL escape")
	}
}

// waiting is a connection without an answer. Its error has no cause.
type waiting struct{}

func (waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestStalledConnection: the reason of a failure is that no data arrived, and not the end of the request.
func TestStalledConnection(t *testing.T) {
	f := fetcher(memStore(t, 0), "https://hub.example.org")
	f.Transport, f.Stall, f.Attempts = waiting{}, time.Millisecond, 1
	wantErr(t, f.Fetch(t.Context(), nameOf("x")), "https://hub.example.org: no data arrived for too long")
}
