package hub_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// staged is a hub with two targets in the environment staging, one in production, and the branch fix-7.
type staged struct {
	*world
	ids   map[string]*pki.Identity
	links map[string]*bus.Link
}

const stagedConfig = `
target_group "web" {
  targets = ["*"]
  modules = ["web", "base"]
}
environment "staging" {
  labels = { env = "staging" }
  domain = "staging.example.org"
  vars   = { password = secret("db") }
}
environment "production" { labels = { env = "production" } }
`

// ofWeb are the variables of the module web. The branch fix-7 has one more.
const ofWeb = "variable \"replicas\" { default = \"\" }\nvariable \"password\" { default = \"\" }\n"

func newStaged(t *testing.T) *staged { return newStagedWith(t, stagedConfig) }

func newStagedWith(t *testing.T, config string) *staged {
	w := &staged{world: newWorld(t), ids: map[string]*pki.Identity{}, links: map[string]*bus.Link{}}
	w.commit(map[string]string{"fettle.hcl": config, "secrets/db.age": "sealed",
		"modules/web/module.hcl":  ofWeb + "file \"/etc/web\" {\n  content = \"main\"\n}\n",
		"modules/base/module.hcl": "file \"/etc/base\" {\n  content = \"main\"\n}\n"})
	w.git("-C", w.repo, "checkout", "-q", "-b", "fix-7")
	w.commit(map[string]string{
		"modules/web/module.hcl": ofWeb + "variable \"size\" {\n  type    = number\n  default = 1\n  validation {\n" +
			"    condition     = var.size > 0\n    error_message = \"Use a positive size.\"\n  }\n}\n" +
			"file \"/etc/web\" {\n  content = \"fix\"\n}\n",
		"modules/base/module.hcl": "file \"/etc/base\" {\n  content = \"fix\"\n}\n"})
	w.git("-C", w.repo, "checkout", "-q", "main")
	w.birth()
	w.start()
	for _, name := range []string{"st-1", "st-2", "prod-1"} {
		env := "staging"
		if strings.HasPrefix(name, "prod") {
			env = "production"
		}
		var tok document.NewToken
		w.ask("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"env": env}, Uses: 1}, &tok)
		w.ids[name], w.links[name] = w.agent(name, tok.Secret)
		w.assigned(name, "main", "main")
	}
	until(t, "the scopes", func() (page document.ScopePage, _ bool) {
		w.ask("GET", "/v1/scopes", nil, &page)
		n := 0
		for _, x := range page.Scopes {
			n += x.Members
		}
		return page, n == 3
	})
	return w
}

// envelope returns the signed assignment of a target.
func (w *staged) envelope(name string) []byte {
	have, _ := json.Marshal(fleet.Have{})
	envelope, _ := w.links[name].Ask(w.t.Context(), fleet.MessageAssignment, have) // tried again
	return envelope
}

// assigned waits until a target has the modules web and base of branches.
func (w *staged) assigned(name, web, base string) fleet.Assignment {
	w.t.Helper()
	return until(w.t, name+" has web of "+web, func() (fleet.Assignment, bool) {
		envelope := w.envelope(name)
		if len(envelope) == 0 {
			return fleet.Assignment{}, false
		}
		a, err := fleet.OpenAssignment(envelope, w.ids[name].Keys(nil, time.Now(), time.Time{}))
		if err != nil {
			w.t.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range a.Modules {
			got[m.Module] = m.Revision.Branch
		}
		return a, got["modules/web"] == web && got["modules/base"] == base
	})
}

// TestEnvironmentOfABranch: an operator lets one target of staging follow a branch. Other assignments do not change.
func TestEnvironmentOfABranch(t *testing.T) {
	t.Parallel()
	w := newStaged(t)
	before := map[string][]byte{"st-1": w.envelope("st-1"), "prod-1": w.envelope("prod-1")}
	main := w.assigned("st-2", "main", "main")
	ann := w.user("ann", "operate")
	ok := document.EnvironmentRequest{Name: "review-7", Parent: "staging", Branch: "fix-7", Select: []string{"st-2"},
		For: int64(time.Hour), Reason: "try", Vars: map[string]string{"replicas": "${1}"}}
	create := func(change func(*document.EnvironmentRequest)) (string, error) {
		r := ok
		change(&r)
		d, err := client.Post(t.Context(), ann, route.CreateEnvironment(), r)
		return d.Text, err
	}
	refused := func(want string, change func(*document.EnvironmentRequest)) {
		t.Helper()
		if _, err := create(change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	same := func(*document.EnvironmentRequest) {}
	refused("without targets", func(r *document.EnvironmentRequest) { r.Select = nil })
	refused("there is no target", func(r *document.EnvironmentRequest) { r.Select = []string{"st-9"} })
	refused("prod-1 is not a member of staging", func(r *document.EnvironmentRequest) { r.Select = []string{"prod-1"} })
	refused(`declares no environment "stagin"`, func(r *document.EnvironmentRequest) { r.Parent = "stagin" })
	refused(`no branch or tag "fix-8"`, func(r *document.EnvironmentRequest) { r.Branch = "fix-8" })
	refused("cannot find its branch", func(r *document.EnvironmentRequest) { r.Branch = "--upload-pack=x" })
	refused("at most 30 days", func(r *document.EnvironmentRequest) { r.For = int64(31 * 24 * time.Hour) })
	refused("at most 30 days", func(r *document.EnvironmentRequest) { r.For = 0 })
	refused("as the name", func(r *document.EnvironmentRequest) { r.Name = "Review 7" })
	refused("declares an environment of this name", func(r *document.EnvironmentRequest) { r.Name = "production" })
	refused("as the domain", func(r *document.EnvironmentRequest) { r.Domain = "a_b" })
	refused("the environment staging has the domain",
		func(r *document.EnvironmentRequest) { r.Domain = "staging.example.org" })
	refused("as the name of a variable",
		func(r *document.EnvironmentRequest) { r.Vars = map[string]string{"a b": "c"} })
	refused("as a module", func(r *document.EnvironmentRequest) { r.Modules = []string{"../x"} })
	if _, err := client.Post(t.Context(), w.user("eve", "read"), route.CreateEnvironment(), ok); err == nil {
		t.Error("the right read creates environments")
	}

	if text, err := create(same); err != nil || !strings.Contains(text, "follow fix-7: st-2.") {
		t.Fatal(text, err)
	}
	if in := w.assigned("st-2", "fix-7", "fix-7").Environment; !in.Same(&fleet.Environment{Name: "review-7",
		Parent: "staging", Vars: ok.Vars}) {
		t.Errorf("the environment of the assignment is %+v", in)
	}
	w.members(ann, "staging st-1", "review-7 st-2")
	if text, err := create(same); err != nil || !strings.Contains(text, "exists already") {
		t.Error(text, err)
	}
	refused("exists with other values", func(r *document.EnvironmentRequest) { r.Modules = []string{"web"} })
	refused("st-2 is in the environment review-7", func(r *document.EnvironmentRequest) { r.Name = "review-8" })
	if _, err := client.Call(t.Context(), ann, route.PinTarget(), route.TargetName{Target: "st-2"},
		document.PinRequest{Ref: "main"}); err == nil || !strings.Contains(err.Error(), "environment review-7") {
		t.Error(err)
	}
	w.shown(ann)
	w.stop()
	w.start()
	at := route.EnvironmentName{Environment: "review-7"}
	if d, err := client.Call(t.Context(), ann, route.ExtendEnvironment(), at,
		document.EnvironmentExtension{For: int64(2 * time.Hour)}); err != nil || !strings.Contains(d.Text, "exists until") {
		t.Error(d, err)
	}
	for _, want := range []string{"return to staging: st-2", "has no environment review-7"} {
		d, err := client.Call(t.Context(), ann, route.RemoveEnvironment(), at, document.ReasonRequest{Reason: "merged"})
		if err != nil || !strings.Contains(d.Text, want) {
			t.Error(d, err)
		}
	}
	w.reconnect()
	w.members(ann, "staging st-1 st-2")
	back := w.assigned("st-2", "main", "main")
	if main.Epoch, main.Generation, main.Issued = back.Epoch, back.Generation, back.Issued; !back.Same(main) {
		t.Errorf("it returned to\n%+v\nand had\n%+v", back, main)
	}
	for name, was := range before {
		if !bytes.Equal(was, w.envelope(name)) {
			t.Errorf("the assignment of %s changed", name)
		}
	}
	w.inAudit("/v1/environments", "review-7", "merged")
}

// members waits until the declared scopes of environments have these members.
func (w *staged) members(c *client.Client, want ...string) {
	w.t.Helper()
	until(w.t, "the members "+strings.Join(want, ", "), func() (page document.ScopePage, _ bool) {
		w.ask("GET", "/v1/scopes", nil, &page)
		got := []string{}
		for _, x := range page.Scopes {
			d, err := client.GetAt(w.t.Context(), c, route.Scope(), route.ScopeID{Kind: x.Kind, Scope: x.Name})
			if x.Name == "production" || err != nil { // it can be removed meanwhile
				continue
			}
			text := x.Name
			for _, m := range d.Members {
				text += " " + m.Name
			}
			got = append(got, text)
		}
		slices.Sort(got)
		return page, slices.Equal(got, slices.Sorted(slices.Values(want)))
	})
}

// shown checks what users see of the environment review-7.
func (w *staged) shown(c *client.Client) {
	w.t.Helper()
	page, err := client.Get(w.t.Context(), c, route.Environments())
	if err != nil || len(page.Environments) != 1 || page.Environments[0].State != document.EnvironmentInForce ||
		page.Environments[0].Domain != "review-7.staging.example.org" {
		w.t.Errorf("%+v %v", page, err)
	}
	d, err := client.GetAt(w.t.Context(), c, route.Environment(), route.EnvironmentName{Environment: "review-7"})
	if err != nil || len(d.Members) != 1 || d.Members[0].Name != "st-2" || len(d.Members[0].Commits) != 1 ||
		d.Members[0].Commits[0] != d.Environment.Commit {
		w.t.Errorf("%+v %v", d, err)
	}
	var e document.Explanation
	w.ask("GET", "/v1/targets/st-2/modules/web", nil, &e)
	if text := strings.Join(e.Reasons, "\n"); !strings.Contains(text, "it is in the environment review-7 of ann") {
		w.t.Error(text)
	}
	unknown := route.EnvironmentName{Environment: "review-8"}
	if _, err := client.GetAt(w.t.Context(), c, route.Environment(), unknown); err == nil ||
		!strings.Contains(err.Error(), "cannot find the environment") {
		w.t.Error(err)
	}
}

// reconnect connects all agents again, after a restart of the hub.
func (w *staged) reconnect() {
	for name, id := range w.ids {
		_ = w.links[name].Close()
		link, err := bus.Dial(w.t.Context(), bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, TLS: idTLS(id)})
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = link.Close() })
		w.links[name] = link
	}
}

// TestEnvironmentOfAModule: the other modules stay at the branch of the parent.
func TestEnvironmentOfAModule(t *testing.T) {
	t.Parallel()
	w := newStaged(t)
	w.ask("POST", "/v1/environments", document.EnvironmentRequest{Name: "review-7", Parent: "staging", Branch: "fix-7",
		Select: []string{"st-2"}, For: int64(time.Hour), Modules: []string{"web"}}, &document.Done{})
	w.assigned("st-2", "fix-7", "main")
	w.ask("POST", "/v1/environments/review-7/extend", document.EnvironmentExtension{For: int64(time.Second)},
		&document.Done{})
	w.assigned("st-2", "main", "main")
	var page document.EnvironmentPage
	w.ask("GET", "/v1/environments", nil, &page)
	if len(page.Environments) != 1 || page.Environments[0].State != document.EnvironmentEnded {
		t.Errorf("%+v", page)
	}
}

// TestVariablesOfEnvironments: variables that cause an error on a target of the environment are refused, with the place
// of the declaration and the nearest name. The content of the branch counts.
func TestVariablesOfEnvironments(t *testing.T) {
	t.Parallel()
	w := newStaged(t)
	ann := w.user("ann", "admin")
	create := func(vars map[string]string, modules ...string) error {
		_, err := client.Post(t.Context(), ann, route.CreateEnvironment(), document.EnvironmentRequest{Name: "review-7",
			Parent: "staging", Branch: "fix-7", Select: []string{"st-2"}, For: int64(time.Hour), Vars: vars, Modules: modules})
		return err
	}
	for _, c := range []struct {
		name, value string
		modules     []string
		want        string
	}{
		{"replicsa", "1", nil, `declares a variable "replicsa". Did you mean "replicas"?`},
		{"size", "many", nil, "must be a number (declared at modules/web/module.hcl:3:10)"},
		{"size", "0", nil, "modules/web/module.hcl:3:10: Invalid value for a variable: Use a positive size."},
		{"size", "2", []string{"base"}, `declares a variable "size".`},
		{"size", "2", []string{"bsae"}, "the branch fix-7 has no modules/bsae"},
		{"password", "x", nil, `The variable "password" has a secret value.`},
	} {
		err := create(map[string]string{c.name: c.value}, c.modules...)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "enrolled") {
			t.Errorf("%s = %s: %v", c.name, c.value, err)
		}
	}
	r := document.EnvironmentRuleRequest{Name: "fix", Branches: "fix-*", Parent: "staging", Select: []string{"st-*"},
		Each: 1, Max: 5, Vars: map[string]string{"replicsa": "1"}}
	if _, err := client.Post(t.Context(), ann, route.FollowBranches(), r); err == nil ||
		!strings.Contains(err.Error(), `Did you mean "replicas"?`) {
		t.Error(err)
	}
	r.Vars = map[string]string{"replicas": "1"}
	if d, err := client.Post(t.Context(), ann, route.FollowBranches(), r); err != nil || strings.Contains(d.Text, "not") {
		t.Error(d, err)
	}
	if _, err := client.Call(t.Context(), ann, route.UnfollowBranches(), route.EnvironmentRuleName{Rule: "fix"},
		document.ReasonRequest{}); err != nil {
		t.Error(err)
	}
	w.assigned("st-2", "main", "main")
	if err := create(map[string]string{"size": "2", "replicas": "1"}); err != nil {
		t.Error(err)
	}
	w.assigned("st-2", "fix-7", "fix-7")
}
