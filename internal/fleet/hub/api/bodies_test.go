package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestBodiesThatAreNotRead: a body is one JSON document with known fields, and a route without a
// document accepts no body. An empty document adds nothing to the audit log.
func TestBodiesThatAreNotRead(t *testing.T) {
	of := route.Row{Method: http.MethodPost, Path: "/v1/x", In: document.ReasonRequest{}}
	for what, c := range map[string]struct {
		in         any
		kind, body string
		status     int
		asked      string
	}{
		"a reason":        {of.In, "application/json", `{"reason":"x"}`, 0, `{"reason":"x"}`},
		"with a charset":  {of.In, "application/json; charset=utf-8", `{"reason":"x"}`, 0, `{"reason":"x"}`},
		"nothing":         {of.In, "application/json", `{}`, 0, ""},
		"the longest":     {of.In, "application/json", `{}` + strings.Repeat(" ", 24<<10-2), 0, ""},
		"too long":        {of.In, "application/json", `{}` + strings.Repeat(" ", 24<<10-1), 413, ""},
		"of another kind": {of.In, "text/plain", `{}`, 415, ""},
		"of no kind":      {of.In, "", `{}`, 415, ""},
		"of a wrong kind": {of.In, "application/json; x", `{}`, 415, ""},
		"another field":   {of.In, "application/json", `{"reason":"x","more":1}`, 400, ""},
		"two documents":   {of.In, "application/json", `{"reason":"x"} {}`, 400, ""},
		"no document":     {of.In, "application/json", ` `, 400, ""},
		"no body":         {nil, "", "", 0, ""},
		"a body of one":   {nil, "", " ", 400, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/x", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		at := of
		at.In = c.in
		call := &call{r: r, w: httptest.NewRecorder(), route: row{Row: at}}
		err := call.read()
		if (err == nil) != (c.status == 0) || err != nil && problemOf(err).Status != c.status {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil && c.in != nil && call.asked() != c.asked {
			t.Errorf("%s: the audit log has %q", what, call.asked())
		}
	}
}

// TestSegmentsOfPaths: each path has one spelling without dotted segments.
func TestSegmentsOfPaths(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/x": "v1|x", "/v1/a%2Fb": "v1|a/b", "/v1/a%20b": "v1|a b", "/": "", "": "", "v1": "", "/v1/": "", "/v1//x": "",
		"/v1/.": "", "/v1/..": "", "/../v1": "", "/v1/%2e%2e": "", "/v1/%2E": "",
		"/v1/%5C": "", "/v1/a%5Cb": "", "/v1/%00": "", "/v1/%0A": "", "/v1/%7F": "", "/v1/%FF": "", "/v1/%61": "",
		"/v1/a%2fb": "", "/v1/...": "v1|...", "/v1/a..b": "v1|a..b",
	} {
		u := &url.URL{RawPath: path}
		if plain, err := url.PathUnescape(path); err == nil {
			u.Path = plain
		}
		parts, err := segments(u)
		if got := strings.Join(parts, "|"); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}

// TestSignaturesOfJobs: only a command can have a signature, of limited size.
func TestSignaturesOfJobs(t *testing.T) {
	run := &fleet.Command{Argv: []string{"true"}}
	for what, c := range map[string]struct {
		do   document.JobRequest
		good bool
	}{
		"a command":        {document.JobRequest{What: fleet.JobRun, Run: run}, true},
		"a signed command": {document.JobRequest{What: fleet.JobRun, Run: run, Signed: "x"}, true},
		"the longest signature": {document.JobRequest{What: fleet.JobRun, Run: run,
			Signed: strings.Repeat("x", fleet.MaxSignedJob)}, true},
		"too long a signature": {document.JobRequest{What: fleet.JobRun, Run: run,
			Signed: strings.Repeat("x", fleet.MaxSignedJob+1)}, false},
		"a signature of nothing": {document.JobRequest{What: fleet.JobApply, Signed: "x"}, false},
		"an application":         {document.JobRequest{What: fleet.JobApply}, true},
	} {
		c.do.Select = []string{"*"}
		if err := checkJob(c.do); (err == nil) != c.good {
			t.Errorf("%s: %v", what, err)
		}
	}
}
