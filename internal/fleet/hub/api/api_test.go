package api_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
)

// update rewrites docs/openapi.json. Review the difference like code.
var update = flag.Bool("update", false, "rewrite golden files")

func newHub(t *testing.T) *apitest.Hub {
	t.Helper()
	hub, err := apitest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hub.Close() })
	return hub
}

// ask sends a request with exactly this path.
func ask(h http.Handler, method, path, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://hub"+path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func ExampleHandler() {
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	hub, err := apitest.New(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer hub.Close()
	w := ask(hub.Handler(), "POST", "/v1/targets/web1/pin", "read", `{"ref":"fix-tls"}`)
	var p document.Problem
	_ = json.Unmarshal(w.Body.Bytes(), &p)
	fmt.Println(w.Code, p.Detail)
	w = ask(hub.Handler(), "POST", "/v1/targets/web1/pin", "operate", `{"ref":"fix-tls"}`)
	fmt.Print(w.Code, " ", w.Body)
	// Output:
	// 403 POST /v1/targets/{target}/pin needs the right "operate", which jane does not have
	// 200 {"format":"fettle.fleet.done/1","text":"web1 is pinned."}
}

// TestDescription compares docs/openapi.json with the table, and each answer with its description.
func TestDescription(t *testing.T) {
	text, err := json.MarshalIndent(api.OpenAPI(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	const file = "../../../../docs/openapi.json"
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(text) {
		t.Errorf("%s is not what the table says; see the difference with -update", file)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("hub.json", doc); err != nil {
		t.Fatal(err)
	}
	hub := newHub(t)
	h := hub.Handler()
	h.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "up 1") })
	var called []string
	for _, q := range requests {
		called = append(called, q.route)
		method, path, _ := strings.Cut(q.route, " ")
		if strings.HasSuffix(path, "/follow") || strings.HasSuffix(path, "/look") || strings.HasSuffix(path, "/work") {
			continue // TestFollow, TestExecutor
		}
		w := ask(h, method, q.path, "admin", q.body)
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", q.route, w.Code, w.Body)
			continue
		}
		at := "hub.json#/paths/" + pointer(path) + "/" + strings.ToLower(method) +
			"/responses/200/content/application~1json/schema"
		validate(t, compiler, at, q.route, w)
	}
	for _, r := range route.All() {
		if !slices.Contains(called, r.Name()) {
			t.Errorf("%s is called by no test", r.Name())
		}
	}
	w := ask(h, "GET", "/v1/targets/nobody", "read", "")
	validate(t, compiler, "hub.json#/components/schemas/Problem", "a problem", w)
}

func pointer(path string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(path)
}

func validate(t *testing.T, c *jsonschema.Compiler, at, what string, w *httptest.ResponseRecorder) {
	t.Helper()
	if strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		return
	}
	schema, err := c.Compile(at)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(w.Body.String()))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s: %v\n%s", what, err, w.Body)
	}
}

// spellings are alternative spellings of a path that a proxy or a router might treat as equal. None
// of them is accepted, for any user.
func spellings(path string) []string {
	path, query, _ := strings.Cut(path, "?")
	out := []string{
		"/" + path, path + "/", path + "//", "/." + path, "/x/.." + path, "/%2e" + path, "/%2E%2e" + path, path + "/.",
		path + "/..", path + "%00", path + "%2F", path + "%20", path + "\\",
		strings.Replace(path, "/", "/%2f", 1), strings.ToUpper(path), path + ";a=b",
		path[:len(path)-1] + fmt.Sprintf("%%%02X", path[len(path)-1]), path + "%c0%af", "/v1" + path,
	}
	for i, s := range out {
		if query != "" {
			out[i] = s + "?" + query
		}
	}
	return out
}

// Every route is called with every right and without one. Only the right in the table is accepted,
// and no other spelling of the path is.
func TestRights(t *testing.T) {
	examples := apitest.Examples(newHub(t))
	for _, q := range requests {
		row := rowOf(q.route)
		if row.Stream {
			continue
		}
		hub := newHub(t)
		for _, token := range []string{"", "nobody", "read", "operate", "approve", "admin"} {
			if row.Right == route.Open || slices.Contains(access.Role(token).Rights(), row.Right) {
				continue
			}
			if w := ask(hub.Handler(), row.Method, q.path, token, q.body); w.Code != http.StatusUnauthorized &&
				w.Code != http.StatusForbidden {
				t.Errorf("%s with %q: %d %s", q.route, token, w.Code, w.Body)
			}
		}
		for _, s := range spellings(q.path) {
			if strings.HasSuffix(row.Path, "}") && slices.Contains(examples, q.route) {
				continue // an example is the answer for any value
			}
			r := &http.Request{Method: row.Method, Header: http.Header{"Authorization": {"Bearer admin"},
				"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(q.body)), Host: "hub"}
			parsed, err := http.NewRequest(row.Method, "http://hub"+s, nil)
			if err != nil {
				continue // no server gets to see it
			}
			r.URL = parsed.URL
			w := httptest.NewRecorder()
			hub.Handler().ServeHTTP(w, r)
			if w.Code < 400 || w.Code >= 500 {
				t.Errorf("%s spelled %q: %d", q.route, s, w.Code)
			}
		}
		for _, a := range hub.Acts() { // TestDeniedRequestsAreRecorded has what must be there
			if !strings.HasSuffix(a, " "+access.Denied) {
				t.Errorf("%s was done: %s", q.route, a)
			}
		}
		if w := ask(hub.Handler(), row.Method, q.path, cmp.Or(string(row.Right), "nobody"),
			q.body); w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden {
			t.Errorf("%s with its right: %d %s", q.route, w.Code, w.Body)
		}
	}
}

// An unauthenticated client does not learn whether a path is in the table.
func TestUnknownPaths(t *testing.T) {
	h := newHub(t).Handler()
	for _, c := range []struct {
		method, path, token string
		want                int
	}{
		{"GET", "/v1/secrets", "", 401}, {"GET", "/v1/secrets", "read", 404}, {"DELETE", "/v1/targets", "admin", 405},
		{"HEAD", "/v1/targets", "read", 405},
		{"GET", "/", "", 401}, {"POST", "/healthz", "", 401}, {"GET", "/v1/targets?frob=1", "read", 400},
		{"GET", "/v1/targets?sort=a&sort=b", "read", 400},
		{"GET", "/v1/targets?select=nobody", "read", 400}, {"GET", "/v1/targets?sort=size", "read", 400},
		{"GET", "/v1/events?after=x", "read", 400}, {"GET", "/v1/events?since=x", "read", 400},
		{"GET", "/v1/targets?limit=-1", "read", 400},
	} {
		if w := ask(h, c.method, c.path, c.token, ""); w.Code != c.want {
			t.Errorf("%s %s with %q: %d, want %d: %s", c.method, c.path, c.token, w.Code, c.want, w.Body)
		}
	}
}

func TestBodies(t *testing.T) {
	h := newHub(t).Handler()
	for body, want := range map[string]int{
		`{"reference":"x"}`: 400, `{"ref":"x"} {}`: 400, `[`: 400, "": 415, `{"ref":""}`: 400, `{"ref":"x","for_ns":-1}`: 400,
		`{"ref":"` + strings.Repeat("x", api.MaxBody) + `"}`: 413,
	} {
		w := ask(h, "POST", "/v1/targets/web1/pin", "operate", body)
		var p document.Problem
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != want || p.Status != want || p.Title == "" ||
			p.Detail == "" || p.Hint == "" || p.Request == "" {
			t.Errorf("%.40q: %d, want %d: %s", body, w.Code, want, w.Body)
		}
	}
	if w := ask(h, "GET", "/v1/status", "read", "{}"); w.Code != 400 {
		t.Errorf("a body for a GET: %d", w.Code)
	}
}

// A change that cannot be recorded is refused.
func TestNothingWithoutAudit(t *testing.T) {
	hub := newHub(t)
	h := hub.Handler()
	h.Audit = nil
	if w := ask(h, "POST", "/v1/targets/db1/approve", "admin", "{}"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	d, err := hub.Target(t.Context(), "db1", apitest.Now())
	if err != nil || d.Target.Standing != "pending" {
		t.Errorf("it was done all the same: %v %v", d.Target.Standing, err)
	}
	h = hub.Handler()
	ask(h, "POST", "/v1/targets/db1/approve", "admin", "{}")
	ask(h, "POST", "/v1/targets/db1/approve", "admin", "{}")
	ask(h, "POST", "/v1/targets/db1/approve", "read", "{}")
	var want []string
	for _, outcome := range []string{access.Begun, access.Done, access.Begun, "cannot approve db1: it is active",
		access.Denied} {
		want = append(want, "POST /v1/targets/{target}/approve db1 "+outcome)
	}
	if got := hub.Acts(); !slices.Equal(got, want) {
		t.Errorf("the audit log has %q, want %q", got, want)
	}
}

// A stream contains earlier and new events in both forms, and ends when its reader disconnects.
func TestFollow(t *testing.T) {
	for _, accept := range []string{"application/jsonl", "text/event-stream"} {
		hub := newHub(t)
		server := httptest.NewServer(hub.Handler())
		defer server.Close()
		r, err := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/v1/events/follow?target=web1&limit=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer read")
		r.Header.Set("Accept", accept)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := answer.Header.Get("Content-Type"); got != accept || answer.StatusCode != 200 {
			t.Fatalf("%s, %d", got, answer.StatusCode)
		}
		dec := lines(answer.Body)
		if e := <-dec; e.Kind != "applied" || e.Name != "web1" {
			t.Errorf("%s: %+v", accept, e)
		}
		if err := hub.Freeze(t.Context(), access.NewPrincipal("jane", "test"), "aaaaaaaaaaaaaaaaaaaaaaaaaa",
			document.FreezeRequest{Reason: "why"}); err != nil {
			t.Fatal(err)
		}
		select {
		case e := <-dec:
			if e.Kind != "froze" || e.By != "jane" {
				t.Errorf("%s: %+v", accept, e)
			}
		case <-time.After(time.Minute):
			t.Fatal("the event does not come")
		}
		_ = answer.Body.Close()
	}
}

// lines reads documents in either form.
func lines(body io.Reader) <-chan document.Event {
	out := make(chan document.Event)
	go func() {
		defer close(out)
		for {
			var line strings.Builder
			for b := make([]byte, 1); ; {
				if _, err := body.Read(b); err != nil {
					return
				}
				if b[0] == '\n' {
					break
				}
				line.WriteByte(b[0])
			}
			var e document.Event
			if json.Unmarshal([]byte(strings.TrimPrefix(line.String(), "data: ")), &e) == nil {
				out <- e
			}
		}
	}()
	return out
}

func TestErrorsOfBackends(t *testing.T) {
	h := newHub(t).Handler()
	h.Authenticate = func(*http.Request) (access.Principal, error) {
		return access.Principal{}, errors.New("cannot believe it")
	}
	if w := ask(h, "GET", "/v1/status", "read", ""); w.Code != 401 ||
		!strings.Contains(w.Body.String(), "cannot believe it") || w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h.Authenticate = func(*http.Request) (access.Principal, error) { return access.NewPrincipal("x", "test"), nil }
	if w := ask(h, "GET", "/v1/status", "read", ""); w.Code != 403 {
		t.Errorf("somebody without rights: %d", w.Code)
	}
}

// endless is a body that counts the bytes that are read.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return copy(b, strings.Repeat(" ", len(b))), nil
}

func (e *endless) Close() error { return nil }

// No route reads the body of an unauthenticated client.
func TestBodiesOfStrangersAreNotRead(t *testing.T) {
	hub := newHub(t)
	for _, q := range requests {
		row := rowOf(q.route)
		if row.Right == route.Open {
			continue
		}
		body := &endless{}
		r := httptest.NewRequestWithContext(t.Context(), row.Method, "http://hub"+q.path, nil)
		r.Body = body
		w := httptest.NewRecorder()
		hub.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized || body.read > 0 {
			t.Errorf("%s answers a stranger %d, after it read %d bytes", q.route, w.Code, body.read)
		}
	}
}
