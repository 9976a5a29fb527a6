package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
)

// granted is a random fleet and a random user, whose rights this model computes from the definitions.
type granted struct {
	*rapid.T
	handler http.Handler
	targets []fleet.Target
	roles   []access.Role
	of      fleet.Organization
	grants  []access.Grant
}

// TestRandomGrants: for random trees of organizations, targets, roles and grants, the status of each request, and the
// targets in each answer, are those of the model.
func TestRandomGrants(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hub, err := apitest.New(t.TempDir())
		if err != nil {
			rt.Fatal(err)
		}
		defer hub.Close()
		g := &granted{T: rt}
		g.draw()
		for _, target := range g.targets {
			if err := hub.Add(t.Context(), target); err != nil {
				rt.Fatal(err)
			}
		}
		h := hub.Handler()
		h.Authenticate = func(*http.Request) (access.Principal, error) {
			who := access.NewPrincipal("jane", "token", g.roles...).WithGrants(g.grants...)
			who.Organization = g.of
			return who, nil
		}
		g.handler = h
		g.whole()
		for _, target := range g.targets {
			g.single(target)
		}
		g.single(fleet.Target{ID: "never", Name: "never"})
		for _, words := range []string{"*", "label:env=prod", g.targets[0].Name, "never"} {
			g.job(words)
		}
	})
}

func organizations() []fleet.Organization {
	return []fleet.Organization{"", "acme", "acme/search", "acme/search/eu", "acme2", "globex"}
}

func (g *granted) draw() {
	id := func(i int) fleet.TargetID { return fleet.TargetID(strings.Repeat(string(rune('h'+i)), 25) + "a") }
	for i := range 3 { // those of the hub in apitest
		name := []string{"web1", "web2", "db1"}[i]
		g.targets = append(g.targets, fleet.Target{ID: fleet.TargetID(strings.Repeat(string(rune('a'+i)), 25) + "a"),
			Name: name, Standing: fleet.Active})
	}
	for i := range rapid.IntRange(1, 6).Draw(g.T, "targets") {
		g.targets = append(g.targets, fleet.Target{ID: id(i), Name: fmt.Sprintf("t%d", i),
			Organization: rapid.SampledFrom(organizations()).Draw(g.T, "organization"), Labels: map[string]string{},
			Standing: rapid.SampledFrom([]fleet.Standing{fleet.Active, fleet.Active, fleet.Pending}).Draw(g.T, "standing")})
	}
	for i := range g.targets {
		if env := rapid.SampledFrom([]string{"", "prod", "dev"}).Draw(g.T, "env"); env != "" {
			g.targets[i].Labels = map[string]string{"env": env, "role": fmt.Sprint(i % 2)}
		}
	}
	g.of = rapid.SampledFrom(organizations()).Draw(g.T, "of")
	roles := [][]access.Role{nil, nil, {"read"}, {"operate"}, {"approve"}, {"admin"}}
	g.roles = rapid.SampledFrom(roles).Draw(g.T, "roles")
	for range rapid.IntRange(0, 3).Draw(g.T, "grants") {
		grant := access.Grant{Role: rapid.SampledFrom([]access.Role{"read", "operate"}).Draw(g.T, "role")}
		grant.Organization = rapid.SampledFrom(organizations()).Draw(g.T, "of a grant")
		if env := rapid.SampledFrom([]string{"", "prod", "dev", "never"}).Draw(g.T, "env of a grant"); env != "" {
			grant.Labels = map[string]string{"env": env}
			if rapid.Bool().Draw(g.T, "two") {
				grant.Labels["role"] = "1"
			}
		}
		for range rapid.IntRange(0, 2).Draw(g.T, "named") {
			grant.Targets = append(grant.Targets, rapid.SampledFrom(g.targets).Draw(g.T, "target").ID)
		}
		g.grants = append(g.grants, grant)
	}
}

// hasRight reports whether a role has a right.
func hasRight(r access.Role, right access.Right) bool {
	return r == "admin" || string(r) == string(right) || right == access.Read
}

// everywhere reports whether the user has a right for the whole organization.
func (g *granted) everywhere(right access.Right) bool {
	return slices.ContainsFunc(g.roles, func(r access.Role) bool { return hasRight(r, right) })
}

// somewhere reports whether the user has a right for the whole organization or by a grant.
func (g *granted) somewhere(right access.Right) bool {
	return g.everywhere(right) ||
		slices.ContainsFunc(g.grants, func(a access.Grant) bool { return hasRight(a.Role, right) })
}

func below(path, of fleet.Organization) bool {
	return of == "" || strings.HasPrefix(string(path)+"/", string(of)+"/")
}

// may reports whether the user has a right for a target.
func (g *granted) may(right access.Right, t fleet.Target) bool {
	if t.Name == "never" || !below(t.Organization, g.of) {
		return false
	}
	for _, a := range g.grants {
		fits := hasRight(a.Role, right) && below(t.Organization, a.Organization) &&
			(len(a.Targets) == 0 || slices.Contains(a.Targets, t.ID))
		for name, value := range a.Labels {
			fits = fits && t.Labels[name] == value
		}
		if fits {
			return true
		}
	}
	return g.everywhere(right)
}

func (g *granted) ask(method, path, body string) *httptest.ResponseRecorder {
	return ask(g.handler, method, path, "token", body)
}

func (g *granted) expect(method, path, body string, want int) {
	if w := g.ask(method, path, body); w.Code != want {
		g.Errorf("%s %s for %v of %q with %+v: %d %s, want %d", method, path, g.roles, g.of, g.grants, w.Code, w.Body, want)
	}
}

// unless returns a status, or 403 if a condition is false.
func unless(ok bool, status int) int {
	if ok {
		return status
	}
	return http.StatusForbidden
}

// whole asks routes about many targets, and routes about other objects.
func (g *granted) whole() {
	g.expect("GET", "/v1/rollouts", "", unless(g.of == "" && g.everywhere(access.Read), 200))
	g.expect("POST", "/v1/freeze", `{"reason":"why"}`, unless(g.of == "" && g.everywhere(access.Operate), 200))
	g.expect("GET", "/v1/users", "", unless(g.everywhere(access.Admin), 200))
	g.expect("GET", "/v1/organizations", "", unless(g.everywhere(access.Read), 200))
	g.expect("GET", "/v1/whoami", "", unless(g.somewhere(access.Read), 200))
	g.expect("GET", "/v1/targets?all=true", "", unless(g.somewhere(access.Read), 200))
	if !g.somewhere(access.Read) {
		return
	}
	var page document.TargetPage
	if err := json.Unmarshal(g.ask("GET", "/v1/targets?all=true", "").Body.Bytes(), &page); err != nil {
		g.Fatal(err)
	}
	var got, want []string
	for _, t := range page.Targets {
		got = append(got, t.Name)
	}
	for _, t := range g.targets {
		if g.may(access.Read, t) {
			want = append(want, t.Name)
		}
	}
	if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) || page.Total != len(want) {
		g.Errorf("%v of %q with %+v lists %q, want %q", g.roles, g.of, g.grants, got, want)
	}
}

// single asks routes about one target.
func (g *granted) single(t fleet.Target) {
	statusOf := func(right access.Right, ok int) int {
		switch {
		case !g.somewhere(right):
			return http.StatusForbidden
		case g.may(right, t):
			return ok
		case g.may(access.Read, t):
			return http.StatusForbidden
		}
		return http.StatusNotFound
	}
	active := t.Standing == fleet.Active
	for _, name := range []string{rapid.SampledFrom([]string{t.Name, string(t.ID)}).Draw(g.T, "asked")} {
		at := "/v1/targets/" + name
		g.expect("GET", at, "", statusOf(access.Read, 200))
		g.expect("GET", at+"/modules/web", "", statusOf(access.Read, 200))
		g.expect("GET", "/v1/events?target="+name, "", statusOf(access.Read, 200))
		for _, change := range []string{"freeze", "unfreeze", "suspect", "trust"} {
			g.expect("POST", at+"/"+change, "{}", statusOf(access.Operate, 200))
		}
		if active {
			g.expect("GET", at+"/runs/4", "", statusOf(access.Read, 200))
		}
		want := statusOf(access.Operate, 200)
		if !g.somewhere(access.Read) {
			want = http.StatusForbidden
		}
		if active || want != 200 {
			g.expect("GET", at+"/runs/4?diff=true", "", want)
		}
		g.expect("POST", at+"/label", `{"set":{"env":"prod"}}`,
			unless(g.of == "" && g.everywhere(access.Admin), statusOf(access.Admin, 200)))
		if t.Name != "never" && g.of == "" && g.everywhere(access.Admin) { // undo it
			text, err := json.Marshal(document.LabelRequest{Set: t.Labels, Remove: []string{"env"}})
			if t.Labels["env"] != "" {
				text, err = json.Marshal(document.LabelRequest{Set: t.Labels})
			}
			if err != nil {
				g.Fatal(err)
			}
			g.expect("POST", at+"/label", string(text), 200)
		}
	}
}

// job creates a job for a selection.
func (g *granted) job(words string) {
	body, err := json.Marshal(document.JobRequest{What: fleet.JobReport, Select: []string{words}})
	if err != nil {
		g.Fatal(err)
	}
	var readable, operable []string
	known := false // a selection of unknown names or labels is an error
	for _, t := range g.targets {
		chosen := words == "*" || words == t.Name || words == "label:env=prod" && t.Labels["env"] == "prod"
		known = known || chosen && g.may(access.Read, t)
		if t.Standing != fleet.Active || !chosen {
			continue
		}
		if g.may(access.Read, t) {
			readable = append(readable, t.Name)
		}
		if g.may(access.Operate, t) {
			operable = append(operable, t.Name)
		}
	}
	want := http.StatusOK
	switch {
	case !g.somewhere(access.Operate), len(readable) > len(operable):
		want = http.StatusForbidden
	case !known:
		want = http.StatusBadRequest
	case len(operable) == 0:
		want = http.StatusConflict
	}
	w := g.ask("POST", "/v1/jobs", string(body))
	var job document.Job
	if err := json.Unmarshal(w.Body.Bytes(), &job); err != nil || w.Code != want {
		g.Errorf("a job for %s by %v of %q with %+v: %d %s, want %d", url.QueryEscape(words), g.roles, g.of, g.grants, w.Code,
			w.Body, want)
		return
	}
	var got []string
	for _, t := range job.Targets {
		got = append(got, t.Name)
	}
	if slices.Sort(got); want == http.StatusOK && !slices.Equal(got, slices.Sorted(slices.Values(operable))) {
		g.Errorf("a job for %s by %v of %q with %+v is for %q, want %q", words, g.roles, g.of, g.grants, got, operable)
	}
}
