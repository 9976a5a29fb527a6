package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestRunGraph: the picture of a run is an SVG of its own that cannot run scripts, and a long error is cut.
func TestRunGraph(t *testing.T) {
	s := siteOf(t, plain(history{}, "read"))
	answer := read(s, "/targets/web1/runs/60/graph.svg")
	text, policy := answer.Body.String(), answer.Header().Get("Content-Security-Policy")
	if answer.Header().Get("Content-Type") != "image/svg+xml" || strings.Contains(policy, "script") ||
		!strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("headers: %v", answer.Header())
	}
	for _, want := range []string{"<svg ", "Run 60 of web1: failed", "✖ failed 1", "exec:b</text>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture lacks %q:\n%.2000s", want, text)
		}
	}
	if len(text) > 20_000 {
		t.Errorf("the picture has %d bytes", len(text))
	}
	for _, path := range []string{"/targets/web1/runs/x/graph.svg", "/targets/web1/runs/0/graph.svg"} {
		if code := read(s, path).Code; code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	if page := read(s, "/targets/web1/runs/60").Body.String(); !strings.Contains(page, "/targets/web1/runs/60/graph.svg") {
		t.Error("the page of the run has no link to its picture")
	}
}
