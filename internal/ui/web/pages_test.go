package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/ui/web"
	"fettle.dev/fettle/test/fakehub"
)

// paths returns an address of each page.
func paths() []string {
	name := url.PathEscape(fakehub.Attack)
	query := url.QueryEscape(fakehub.Attack)
	return []string{"/", "/?by=" + query + "&select=" + query + "&state=failed",
		"/targets/" + name, "/targets/" + name + "?explain=" + name, "/targets/" + name + "/runs",
		"/targets/" + name + "/runs/7", "/targets/" + name + "/commits/" + name,
		"/targets/" + name + "/drift?compare=1", "/targets/" + name + "/rollback?to=3",
		"/modules", "/modules/modules/web", "/commits/" + name,
		"/rollouts",
		"/rollouts/r1", "/inbox", "/jobs", "/jobs/j1", "/events?kind=failed", "/history?days=7", "/hubs", "/audit",
		"/search?q=" + query, "/locks", "/locks/" + name + "/release?target=" + query, "/barriers", "/signals",
		"/signals/" + name, "/scopes?verdict=failed&kind=" + query, "/scopes/tree", "/scopes/" + name + "/" + name, "/tasks",
		"/environments",
		"/nothing"}
}

func siteOf(t testing.TB, h http.Handler) *web.Site {
	c := fakehub.Serve(t, h)
	return web.New(web.Config{Client: func(*http.Request) (*client.Client, error) { return c, nil }})
}

func read(s http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// elements returns all elements of a page.
func elements(t *testing.T, text string) (out []*html.Node) {
	t.Helper()
	top, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := range top.Descendants() {
		if n.Type == html.ElementNode {
			out = append(out, n)
		}
	}
	return out
}

// TestHostileTexts: texts of agents, commits and users add no element, no attribute and no address to a page.
func TestHostileTexts(t *testing.T) {
	s := siteOf(t, fakehub.Hostile{Rights: []string{"admin", "approve", "operate", "read"}})
	for _, path := range paths() {
		w := read(s, path)
		if want := map[bool]int{true: 404, false: 200}[path == "/nothing"]; w.Code != want {
			t.Errorf("%s: %d\n%s", path, w.Code, w.Body)
			continue
		}
		seen := false
		for _, n := range elements(t, w.Body.String()) {
			if n.Data == "img" || n.Data == "iframe" || n.Data == "style" {
				t.Errorf("%s has the element %s", path, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" ||
					slices.Contains([]string{"href", "src", "action"}, a.Key) && !local(a.Val) {
					t.Errorf("%s: the element %s has %s=%q", path, n.Data, a.Key, a.Val)
				}
			}
			if n.Data == "script" && n.FirstChild != nil {
				t.Errorf("%s has a script inside of the page", path)
			}
			seen = seen || n.FirstChild != nil && strings.Contains(n.FirstChild.Data, "<img src=x")
		}
		if strings.ContainsAny(w.Body.String(), "\x07\u202e") {
			t.Errorf("%s has a character that changes the text around it", path)
		}
		if !seen {
			t.Errorf("%s does not show the text", path)
		}
	}
}

// local reports whether an address belongs to the site.
func local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "" && u.Host == ""
}

// TestHeaders: browsers get only scripts and styles of the site, and keep no page.
func TestHeaders(t *testing.T) {
	s := siteOf(t, fakehub.Large{N: 3})
	h := read(s, "/").Header()
	policy := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
		"form-action 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || h.Get("Cache-Control") != "no-store" ||
		h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v", h)
	}
}

// TestReader: the pages of a user without the right to change something have no form for it.
func TestReader(t *testing.T) {
	s := siteOf(t, fakehub.Hostile{Rights: []string{"read"}})
	for _, path := range paths() {
		text := read(s, path).Body.String()
		for _, n := range elements(t, text) {
			for _, a := range n.Attr {
				if n.Data == "form" && a.Key == "method" && a.Val == "post" {
					t.Errorf("%s has a form for changes", path)
				}
			}
		}
		if strings.Contains(text, `href="/audit"`) {
			t.Errorf("%s links to the audit log", path)
		}
	}
}

// TestAssets: each address of a script or style exists, may be kept, and is small.
func TestAssets(t *testing.T) {
	s := siteOf(t, fakehub.Large{N: 3})
	size := 0
	for _, n := range elements(t, read(s, "/").Body.String()) {
		for _, a := range n.Attr {
			if a.Key != "src" && (a.Key != "href" || n.Data != "link") {
				continue
			}
			r := httptest.NewRequest(http.MethodGet, a.Val, nil)
			r.Header.Set("Accept-Encoding", "gzip")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != 200 || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d %v", a.Val, w.Code, w.Header())
			}
			size += w.Body.Len()
		}
	}
	if size == 0 || size > 30_000 {
		t.Errorf("the scripts and styles have %d bytes", size)
	}
	if w := read(s, "/assets/0000000000000000/page.js"); w.Code != 404 {
		t.Errorf("an old address: %d", w.Code)
	}
}

// TestManyTargets: a page of ten thousand targets has few elements.
func TestManyTargets(t *testing.T) {
	w := read(siteOf(t, fakehub.Large{N: 10_000}), "/?by=site")
	all := elements(t, w.Body.String())
	if len(all) > 3000 || !strings.Contains(w.Body.String(), "host09999") {
		t.Errorf("the page has %d elements", len(all))
	}
}

// TestSupervisorOfFleetPage: the fleet page shows only targets in guests of a supervisor, and its links and its command
// also do.
func TestSupervisorOfFleetPage(t *testing.T) {
	var asked []string
	s := siteOf(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/targets" {
			asked = append(asked, r.URL.Query().Get("supervisor"))
		}
		fakehub.Large{N: 3}.ServeHTTP(w, r)
	}))
	page := read(s, "/?by=site&state=ready&supervisor=vm1").Body.String()
	if len(asked) == 0 || slices.ContainsFunc(asked, func(name string) bool { return name != "vm1" }) {
		t.Errorf("the page asks for the supervisors %q", asked)
	}
	for _, want := range []string{`name="supervisor" value="vm1"`, "fettle target list --supervisor vm1 --in-state ready",
		"/?by=site&amp;supervisor=vm1\""} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	for _, n := range elements(t, page) {
		for _, a := range n.Attr {
			if n.Data == "a" && strings.HasPrefix(a.Val, "/?") && !strings.Contains(a.Val, "supervisor=") {
				t.Errorf("a link loses the supervisor: %s", a.Val)
			}
		}
	}
}

// TestOtherSites: a form of another site changes nothing.
func TestOtherSites(t *testing.T) {
	s := siteOf(t, fakehub.Hostile{Rights: []string{"operate", "read"}})
	for origin, want := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 303} {
		r := httptest.NewRequest(http.MethodPost, "/freeze", strings.NewReader("reason=x"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", origin)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%s: %d, want %d\n%s", origin, w.Code, want, w.Body)
		}
	}
}

// TestChecksOfTarget: the page of a target has the results of its checks of scopes.
func TestChecksOfTarget(t *testing.T) {
	w := read(siteOf(t, fakehub.Hostile{Rights: []string{"read"}, Text: "failed"}), "/targets/web1")
	_, rest, found := strings.Cut(w.Body.String(), `<table id="checks">`)
	table, _, _ := strings.Cut(rest, "</table>")
	if !found || strings.Count(table, "<tr>") != 3 || strings.Count(table, `class="state bad"`) != 2 ||
		!strings.Contains(table, `<pre class="error">failed</pre>`) {
		t.Errorf("%v: %s", found, table)
	}
}

// TestRequestsOfHostPages: the pages about the host of a target have the request that returns the same data.
func TestRequestsOfHostPages(t *testing.T) {
	for right, wants := range map[string]map[string]string{
		"operate": {"runs?offset=25": "runs?limit=25&amp;offset=25", "drift": "drift?diff=true",
			"rollback?to=3": "runs/3/rollback?diff=true"},
		"read": {"runs": "runs?limit=25", "drift": "drift"}} {
		s := siteOf(t, fakehub.Hostile{Rights: []string{right, "read"}, Text: "web1"})
		for path, want := range wants {
			if page := read(s, "/targets/web1/"+path).Body.String(); !strings.Contains(page, `"$HUB/v1/targets/web1/`+want+`"`) {
				t.Errorf("%s with the right %s lacks %s: %s", path, right, want, page)
			}
		}
	}
}
