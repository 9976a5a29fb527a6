package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
)

// recorded sends a request, and returns the answer and the calls of the backend.
func recorded(t *testing.T, change func(*recording), method, path, body string) (*httptest.ResponseRecorder, []string) {
	t.Helper()
	hub := newHub(t)
	b := recording{Backend: hub, told: &[]string{}}
	if change != nil {
		change(&b)
	}
	h := hub.Handler()
	h.Table = apitest.Table(b)
	return ask(h, method, path, "admin", body), *b.told
}

// changingRoutes returns the routes that change something and whose handlers are in this package, with their paths.
func changingRoutes(t *testing.T) map[string]*regexp.Regexp {
	// Tests of these look at what a backend has afterwards. The list may only become shorter.
	others := regexp.MustCompile(`^POST /v1/(environments|exemptions|jobs|rollouts/.*|targets/[^/]+/(approve|look|work))$`)
	examples := apitest.Examples(newHub(t))
	out := map[string]*regexp.Regexp{}
	for _, r := range route.All() {
		if r.Changes() && !others.MatchString(r.Name()) && !slices.Contains(examples, r.Name()) {
			out[r.Name()] = regexp.MustCompile("^" + regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(r.Path, "[^/]+") + "$")
		}
	}
	return out
}

// TestEffectsOfRequests: the backend gets all values of a request and the user, and the answer
// describes the effect. A refused request has no effect.
func TestEffectsOfRequests(t *testing.T) {
	const web1 = `"aaaaaaaaaaaaaaaaaaaaaaaaaa"`
	until := apitest.Now().Unix() + 60
	program := func(sel string) string {
		return `{` + sel + `"binary":{"version":"1.2","files":{"amd64":{"digest":"sha256:` + strings.Repeat("a",
			64) + `","size":1}}}}`
	}
	untested := changingRoutes(t)
	for _, c := range []struct {
		path, body string
		status     int
		says       string
		told       string
	}{
		{"/v1/targets/web1/retire", `{"reason":"old"}`, 200, "web1 is retired.", `jane retire [` + web1 + `,"old"]`},
		{"/v1/targets/web1/revoke", `{"reason":"stolen"}`, 200, "web1 is revoked.", `jane revoke [` + web1 + `,"stolen"]`},
		{"/v1/targets/web1/suspect", `{"reason":"disk"}`, 200, "web1 is suspect.", `jane suspect [` + web1 + `,"disk"]`},
		{"/v1/targets/web1/trust", `{"reason":"new disk"}`, 200, "web1 is trusted.", `jane trust [` + web1 + `,"new disk"]`},
		{"/v1/targets/web1/label", `{"set":{"a":"1"},"remove":["b"]}`, 200, "The labels of web1 are set.",
			`jane label [` + web1 + `,{"a":"1"},["b"]]`},
		{"/v1/targets/web1/label", `{"set":{"a":"1"},"remove":["b","a"]}`, 400, "cannot set and remove the label", ""},
		{"/v1/targets/web1/label", `{"set":{"a b":"1"}}`, 400, "Write labels as KEY=VALUE", ""},
		{"/v1/targets/web1/pin", `{"ref":"main"}`, 200, "web1 is pinned.",
			`jane pin [` + web1 + `,"","main","jane","","",0]`},
		{"/v1/targets/web1/pin", `{"ref":"main","module":"web","reason":"why","permit":"p","for_ns":60000000000}`, 200,
			"web1 is pinned.",
			`jane pin [` + web1 + `,"modules/web","main","jane","why","p",` + jsonOf(t, until) + `]`},
		{"/v1/targets/web1/pin", `{}`, 400, "cannot pin without a commit", ""},
		{"/v1/targets/web1/pin", `{"ref":"main","for_ns":-1}`, 400, "cannot pin without a commit", ""},
		{"/v1/targets/web1/unpin", `{"module":"modules/web"}`, 200, "The pin of web1 is removed.",
			`jane unpin [` + web1 + `,"modules/web"]`},
		{"/v1/targets/web1/freeze", `{"reason":"x","for_ns":5}`, 200, "web1 is frozen.", `jane freeze [` + web1 + `,"x",5]`},
		{"/v1/targets/web1/freeze", `{"for_ns":-1}`, 400, "cannot freeze for a negative time", ""},
		{"/v1/targets/web1/unfreeze", `{}`, 200, "web1 may change again.", `jane unfreeze [` + web1 + `]`},
		{"/v1/freeze", `{"reason":"x","for_ns":5}`, 200, "All targets are frozen", `jane freeze all ["x",5]`},
		{"/v1/freeze", `{"for_ns":5}`, 400, "without a reason", ""},
		{"/v1/freeze", `{"reason":"x","for_ns":-5}`, 400, "negative time", ""},
		{"/v1/unfreeze", `{}`, 200, "This hub has no freeze of all targets.", `jane unfreeze all null`},
		{"/v1/targets/web1/requests/freeze/approve", `{"name":"n","reason":"r"}`, 200, "The request of web1 is approved.",
			`jane decide [` + web1 + `,"freeze","n",false,"r"]`},
		{"/v1/targets/web1/requests/freeze/reject", `{"name":"n","reason":"r"}`, 200, "The request of web1 is rejected.",
			`jane decide [` + web1 + `,"freeze","n",true,"r"]`},
		{"/v1/binaries", program(`"select":["web*"],`), 200, "2 agents will be upgraded to 1.2.", `jane program ["1.2",2]`},
		{"/v1/binaries", program(""), 400, "none is selected", ""},
		{"/v1/binaries", program(`"select":["db1"],`), 409, "none is active", ""},
		{"/v1/binaries", `{"select":["web*"],"binary":{"version":""}}`, 400, "fettle agent upgrade --help", ""},
		{"/v1/targets/web1/move", `{"organization":"acme/search","reason":"sold"}`, 200,
			"web1 belongs to the organization acme/search.", `jane move [` + web1 + `,"acme/search","sold"]`},
		{"/v1/targets/web1/move", `{"organization":""}`, 200, "web1 belongs to no organization, only to the fleet.",
			`jane move [` + web1 + `,"",""]`},
		{"/v1/targets/web1/move", `{"organization":"acme/"}`, 400, "Write it as acme or acme/search", ""},
		{"/v1/targets/nobody/retire", `{}`, 404, "nobody", ""},
	} {
		w, told := recorded(t, nil, "POST", c.path, c.body)
		if got := strings.Join(told, "; "); w.Code != c.status || !strings.Contains(w.Body.String(), c.says) ||
			got != c.told {
			t.Errorf("%s %s: %d %s\ntold %s, want %s", c.path, c.body, w.Code, w.Body, got, c.told)
		}
		maps.DeleteFunc(untested, func(_ string, path *regexp.Regexp) bool {
			return c.told != "" && path.MatchString(c.path)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(untested)) {
		t.Errorf("no case shows the effect of %s", name)
	}
	frozen := func(r *recording) { r.frozen = &document.FleetFreeze{By: "ann"} }
	for path, says := range map[string]string{
		"/v1/unfreeze":              "The freeze of all targets by ann has ended. Targets with a freeze of their own stay frozen.",
		"/v1/targets/web1/unfreeze": "web1 has no freeze of its own now, but the freeze of all targets remains. To end that, run: fettle target unfreeze --all",
	} {
		if w, told := recorded(t, frozen, "POST", path, `{}`); w.Code != 200 || !strings.Contains(w.Body.String(), says) ||
			len(told) != 1 {
			t.Errorf("%s: %d %s, told %q", path, w.Code, w.Body, told)
		}
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestQueriesReachTheViews: each parameter of a query is used, and an invalid one is refused.
func TestQueriesReachTheViews(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/targets?all=true&sort=-state&offset=1&limit=2":                         ` targets [true,"-state",1,2,"2026-11-21"]`,
		"/v1/targets?all=false&offset=1":                                            ` targets [false,"",1,0,"2026-11-21"]`,
		"/v1/modules/web?offset=1&limit=2":                                          ` module ["modules/web",1,2,"2026-11-21"]`,
		"/v1/events?target=web1&module=web&kind=a&kind=b&limit=3":                   ` events ["web1","modules/web",["a","b"],"0001-01-01T00:00:00Z","0001-01-01T00:00:00Z","",3]`,
		"/v1/events?since=2026-01-02T03:04:05Z&until=2026-01-03T03:04:05Z&after=c7": ` events ["","",null,"2026-01-02T03:04:05Z","2026-01-03T03:04:05Z","c7",0]`,
	} {
		if w, told := recorded(t, nil, "GET", path, ""); w.Code != 200 || len(told) != 1 || told[0] != want {
			t.Errorf("%s: %d %.100s\ntold %q, want %q", path, w.Code, w.Body, told, want)
		}
	}
	for _, path := range []string{
		"/v1/targets?offset=x", "/v1/targets?limit=x", "/v1/modules/web?offset=x", "/v1/modules/web?limit=-1",
		"/v1/events?limit=x", "/v1/events?limit=x&since=2026-01-02T03:04:05Z",
		"/v1/events?since=x&until=2026-01-02T03:04:05Z", "/v1/events?until=yesterday", "/v1/events/follow?limit=x",
		"/v1/requests?limit=x",
		"/v1/targets?limit=1&limit=1", "/v1/status?limit=1", "/v1/targets?Limit=1",
	} {
		if w, told := recorded(t, nil, "GET", path, ""); w.Code != 400 || len(told) > 0 ||
			!strings.Contains(w.Body.String(), "The query is wrong") {
			t.Errorf("%s: %d %s, told %q", path, w.Code, w.Body, told)
		}
	}
}

// TestWhoami: the answer contains exactly the user's own rights, and the hub.
func TestWhoami(t *testing.T) {
	for token, rights := range map[string][]string{
		"read": {"read"}, "operate": {"read", "operate"}, "approve": {"read", "approve"},
		"admin": {"read", "operate", "approve", "admin"},
	} {
		w := ask(newHub(t).Handler(), "GET", "/v1/whoami", token, "")
		var p document.CurrentUser
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Name != "jane" || p.Hub == "" {
			t.Errorf("%s: %s, %v", token, w.Body, err)
		}
		if !slices.Equal(p.Rights, rights) {
			t.Errorf("%s: the rights are %q, want %q", token, p.Rights, rights)
		}
	}
}

// TestAnswersOfABareHub: documents have their format, lists are never null, and a path has at most 2048 bytes.
func TestAnswersOfABareHub(t *testing.T) {
	w, _ := recorded(t, nil, "GET", "/v1/health", "")
	var h document.Health
	if err := json.Unmarshal(w.Body.Bytes(), &h); err != nil || h.Format != document.HealthFormat ||
		!strings.Contains(w.Body.String(), `"checks":[]`) {
		t.Errorf("%s, %v", w.Body, err)
	}
	for ready, want := range map[bool]int{true: 200, false: 503} {
		if w, _ := recorded(t, func(r *recording) { r.health.Ready = ready }, "GET", "/readyz", ""); w.Code != want ||
			!strings.HasSuffix(w.Body.String(), "ready\n") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if w, _ := recorded(t, nil, "GET", "/v1/check", ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `"checks":[]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for size, want := range map[int]int{2048: http.StatusNotFound, 2049: http.StatusBadRequest} {
		if w := ask(newHub(t).Handler(), "GET", "/v1/"+strings.Repeat("x", size-4), "read", ""); w.Code != want {
			t.Errorf("a path of %d bytes: %d", size, w.Code)
		}
	}
}
