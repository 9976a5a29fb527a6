package route_test

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

func Example() {
	r := route.RevokeLogin()
	fmt.Println(r.Name(), r.Right)
	fmt.Println(r.Address(route.LoginID{User: "ann", Login: "fettle-api-p1"}))
	// Output:
	// POST /v1/users/{user}/logins/{login}/revoke admin
	// /v1/users/ann/logins/fettle-api-p1/revoke
}

// TestAddresses: values are escaped, and a hub reads the same values from the address.
func TestAddresses(t *testing.T) {
	zero := int64(0)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	same(t, route.Target(), route.TargetName{Target: "a/b c?d"}, "/v1/targets/a%2Fb%20c%3Fd")
	same(t, route.Explain(), route.TargetModule{Target: "web1", Module: "modules/web"},
		"/v1/targets/web1/modules/modules%2Fweb")
	same(t, route.Status(), route.None{}, "/v1/status")
	same(t, route.Targets(), route.TargetQuery{}, "/v1/targets")
	same(t, route.Targets(), route.TargetQuery{Select: []string{"a&b", "c"}, All: true, Sort: "-name", Offset: 1,
		Limit: 2, After: "x_-", State: "failed", By: "label:env"},
		"/v1/targets?after=x_-&all=true&by=label%3Aenv&limit=2&offset=1&select=a%26b&select=c&sort=-name&state=failed")
	same(t, route.Module(), route.ModuleQuery{Module: "web", Limit: 3}, "/v1/modules/web?limit=3")
	same(t, route.Events(), route.EventQuery{Kinds: []string{"a"}, Since: at, Until: at.Add(time.Hour), After: "c7"},
		"/v1/events?after=c7&kind=a&since=2026-01-02T03%3A04%3A05Z&until=2026-01-02T04%3A04%3A05Z")
	same(t, route.AuditLog(), route.AuditQuery{}, "/v1/audit")
	same(t, route.AuditLog(), route.AuditQuery{Offset: &zero, Limit: 5}, "/v1/audit?limit=5&offset=0")
}

func same[A, In, Out any](t *testing.T, r route.Route[A, In, Out], at A, want string) {
	t.Helper()
	if got := r.Address(at); got != want {
		t.Errorf("%s: the address is %s, want %s", r.Name(), got, want)
		return
	}
	u, err := url.Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	var segments []string
	for s := range strings.SplitSeq(u.EscapedPath()[1:], "/") {
		plain, err := url.PathUnescape(s)
		if err != nil {
			t.Fatal(err)
		}
		segments = append(segments, plain)
	}
	path, ok := r.Match(segments)
	if back, err := r.Values(path, u.Query()); !ok || err != nil || !reflect.DeepEqual(back, at) {
		t.Errorf("%s: read %+v from %s, want %+v: %v", r.Name(), back, want, at, err)
	}
}

// TestWrongValues: a number or a time that cannot be read is an error. An empty value is a missing
// value.
func TestWrongValues(t *testing.T) {
	for query, says := range map[string]string{
		"limit=x":         `cannot read limit="x": it must be a number`,
		"limit=-1":        `cannot read limit="-1": it must be a number`,
		"since=yesterday": `cannot read since="yesterday" as a time`,
		"limit=&since=":   "",
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = route.Events().Values(nil, values)
		var p *document.Problem
		if (err == nil) != (says == "") || err != nil &&
			(!errors.As(err, &p) || p.Status != 400 || p.Detail != says || p.Hint == "") {
			t.Errorf("%s: %v, want %s", query, err, says)
		}
	}
}

// TestMatch: a path matches only with the same number of segments and the same constant segments.
func TestMatch(t *testing.T) {
	for path, want := range map[string]bool{
		"v1/targets/web1/freeze": true, "v1/targets/web1": false, "v1/targets/web1/freeze/x": false,
		"v1/targets/web1/unfreeze": false, "v2/targets/web1/freeze": false,
	} {
		values, ok := route.FreezeTarget().Match(strings.Split(path, "/"))
		if ok != want || ok && values["target"] != "web1" {
			t.Errorf("%s: %v, %v", path, values, ok)
		}
	}
}

// TestTags: each value of a path has a field with its name, and the reverse. Each other field is a parameter with a
// sentence, and each route is in the table once.
func TestTags(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range route.All() {
		if seen[r.Name()] || r.Does == "" || strings.HasSuffix(r.Does, ".") {
			t.Errorf("%s: %q", r.Name(), r.Does)
		}
		seen[r.Name()] = true
		for _, p := range r.Query {
			if p.Name == "" || p.Does == "" {
				t.Errorf("%s: the parameter %+v", r.Name(), p)
			}
		}
		for _, name := range r.InPath {
			if !strings.Contains(r.Path+"/", "/{"+name+"}/") {
				t.Errorf("%s has no value for the field %q", r.Name(), name)
			}
		}
		for s := range strings.SplitSeq(r.Path, "/") {
			if strings.HasPrefix(s, "{") && !strings.Contains(" "+strings.Join(r.InPath, " ")+" ",
				" "+strings.Trim(s, "{}")+" ") {
				t.Errorf("%s has no field for %s", r.Name(), s)
			}
		}
	}
}

// TestEachFunctionIsInTheTable: a function that returns a route is in the list of its topic.
func TestEachFunctionIsInTheTable(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	functions := 0
	returnsRoute := regexp.MustCompile(`(?m)^func [A-Z]\w*\(\) \(r Route\[`)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		functions += len(returnsRoute.FindAll(text, -1))
	}
	if all := len(route.All()); functions != all {
		t.Errorf("%d functions return a route, and the table has %d rows", functions, all)
	}
}
