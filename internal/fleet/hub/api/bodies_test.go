package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
)

// TestBodiesThatAreNotRead: a body has one JSON document with known fields, and a route that takes none has none. An empty
// document says nothing to the audit log.
func TestBodiesThatAreNotRead(t *testing.T) {
	route := Route{Method: http.MethodPost, Path: "/v1/x", In: document.ReasonRequest{}}
	for what, c := range map[string]struct {
		in         any
		kind, body string
		status     int
		asked      string
	}{
		"a reason":        {route.In, "application/json", `{"reason":"x"}`, 0, `{"reason":"x"}`},
		"with a charset":  {route.In, "application/json; charset=utf-8", `{"reason":"x"}`, 0, `{"reason":"x"}`},
		"nothing":         {route.In, "application/json", `{}`, 0, ""},
		"the longest":     {route.In, "application/json", `{}` + strings.Repeat(" ", MaxBody-2), 0, ""},
		"too long":        {route.In, "application/json", `{}` + strings.Repeat(" ", MaxBody-1), 413, ""},
		"of another kind": {route.In, "text/plain", `{}`, 415, ""},
		"of no kind":      {route.In, "", `{}`, 415, ""},
		"of a wrong kind": {route.In, "application/json; x", `{}`, 415, ""},
		"another field":   {route.In, "application/json", `{"reason":"x","more":1}`, 400, ""},
		"two documents":   {route.In, "application/json", `{"reason":"x"} {}`, 400, ""},
		"no document":     {route.In, "application/json", ` `, 400, ""},
		"no body":         {nil, "", "", 0, ""},
		"a body of one":   {nil, "", " ", 400, ""},
	} {
		r := httptest.NewRequest(http.MethodPost, "/v1/x", strings.NewReader(c.body))
		r.Header.Set("Content-Type", c.kind)
		at := route
		at.In = c.in
		call := &call{r: r, w: httptest.NewRecorder(), route: at}
		err := call.read()
		if (err == nil) != (c.status == 0) || err != nil && problemOf(err).Status != c.status {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil && c.in != nil && call.asked() != c.asked {
			t.Errorf("%s: the audit log has %q", what, call.asked())
		}
	}
}
