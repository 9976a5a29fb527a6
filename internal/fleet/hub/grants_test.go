package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
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

// statusOf returns the HTTP status of an error of the client, or 200.
func statusOf(err error) int {
	if p := (*document.Problem)(nil); errors.As(err, &p) {
		return p.Status
	}
	return http.StatusOK
}

// TestGrants: a user with a grant uses only the targets of the grant. A job of the user waits while its target is not
// in the selection. After the grant ends, the user has no rights.
func TestGrants(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "", "modules/base/module.hcl": "file \"/etc/a\" {\n  content = \"x\"\n}\n"})
	w.birth()
	w.start()
	join := func(name, env string) (*pki.Identity, *bus.Link) {
		var tok document.NewToken
		w.ask("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"env": env}, Uses: 1}, &tok)
		return w.agent(name, tok.Secret)
	}
	web1, link := join("web1", "prod")
	join("web2", "dev")
	w.ask("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"none"}}, &document.Done{})
	at := route.UserName{User: "ann"}
	root := w.user("root2", "admin")
	if _, err := client.Call(t.Context(), root, route.CreateLogin(), at, document.LoginRequest{}); statusOf(err) !=
		http.StatusConflict {
		t.Errorf("a login without rights: %v", err)
	}
	grant := document.GrantRequest{Role: "operate", Labels: map[string]string{"env": "prod"}, Reason: "on duty"}
	done, err := client.Call(t.Context(), root, route.GrantRole(), at, grant)
	if err != nil || !strings.Contains(done.Text, "for 1 target now") {
		t.Fatalf("%q, %v", done.Text, err)
	}
	none := document.GrantRequest{Role: "read", Labels: map[string]string{"env": "never"}}
	done, err = client.Call(t.Context(), root, route.GrantRole(), at, none)
	if err != nil || !strings.Contains(done.Text, "now 0 targets do") {
		t.Fatalf("%q, %v", done.Text, err)
	}
	login, err := client.Call(t.Context(), root, route.CreateLogin(), at, document.LoginRequest{})
	if err != nil {
		t.Fatal(err)
	}
	authority, err := client.Authority(t.Context(), w.api)
	if err != nil {
		t.Fatal(err)
	}
	ann, err := client.New(client.Login{Hub: w.api, Token: login.Secret, Authority: authority})
	if err != nil {
		t.Fatal(err)
	}
	who, err := client.Get(t.Context(), ann, route.WhoAmI())
	if err != nil || len(who.Rights) != 0 || len(who.Grants) != 2 {
		t.Errorf("%+v, %v", who, err)
	}
	until(t, "ann sees web1", func() (document.TargetPage, bool) {
		p, err := client.GetAt(t.Context(), ann, route.Targets(), route.TargetQuery{})
		return p, err == nil && len(p.Targets) == 1 && p.Targets[0].Name == "web1"
	})
	freeze := document.FreezeRequest{Reason: "why"}
	if _, err := client.Call(t.Context(), ann, route.FreezeTarget(), route.TargetName{Target: "web2"}, freeze); statusOf(
		err) != http.StatusNotFound {
		t.Errorf("a target outside: %v", err)
	}
	if _, err := client.Get(t.Context(), ann, route.Rollouts()); statusOf(err) != http.StatusForbidden {
		t.Errorf("rollouts: %v", err)
	}
	w.labelled(t, web1, link, ann, root)
	if _, err := client.Call(t.Context(), root, route.EndGrant(), at, document.GrantRequest{Role: "read",
		Labels: grant.Labels}); statusOf(err) != http.StatusNotFound {
		t.Errorf("a grant with another role: %v", err)
	}
	if _, err := client.Call(t.Context(), root, route.EndGrant(), at, grant); err != nil {
		t.Fatal(err)
	}
	if _, err := client.GetAt(t.Context(), ann, route.Target(), route.TargetName{Target: "web1"}); statusOf(err) !=
		http.StatusNotFound {
		t.Errorf("after the grant ended: %v", err)
	}
}

// labelled checks that a job of ann does not reach a target while its label is another one.
func (w *world) labelled(t *testing.T, id *pki.Identity, link *bus.Link, ann, root *client.Client) {
	t.Helper()
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(c *client.Client, word string) {
		t.Helper()
		if _, err := client.Post(t.Context(), c, route.CreateJob(), document.JobRequest{What: fleet.JobRun,
			Select: []string{"web1"}, Run: &fleet.Command{Argv: []string{word}}}); err != nil {
			t.Fatal(err)
		}
	}
	label := func(env string) {
		t.Helper()
		if _, err := client.Call(t.Context(), root, route.LabelTarget(), route.TargetName{Target: "web1"},
			document.LabelRequest{Set: map[string]string{"env": env}}); err != nil {
			t.Fatal(err)
		}
		until(t, "the label", func() (document.TargetDetail, bool) {
			d, err := client.GetAt(t.Context(), root, route.Target(), route.TargetName{Target: "web1"})
			return d, err == nil && d.Target.Labels["env"] == env
		})
	}
	words := make(chan string, 20)
	connect := func() *bus.Link {
		t.Helper()
		link, err := bus.Dial(t.Context(), bus.LinkConfig{ID: id.ID, URLs: id.BusURLs, TLS: idTLS(id)})
		if err == nil {
			err = link.Serve(fleet.MessageJob, func(_ context.Context, body []byte) ([]byte, error) {
				job, err := fleet.ParseJob(body)
				if err == nil && job.Run != nil {
					words <- job.Run.Argv[0]
				}
				return []byte(`{"id":"` + job.ID + `"}`), err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	expect := func(want, never string) {
		t.Helper()
		for {
			select {
			case word := <-words:
				if word == never {
					t.Fatalf("the target got the job %s", word)
				}
				if word == want {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("the job %s never came", want)
			}
		}
	}
	run(ann, "granted")
	label("dev")
	link = connect()
	run(root, "present")
	expect("present", "granted")
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
	label("prod")
	link = connect()
	expect("granted", "")
	if err := link.Close(); err != nil {
		t.Fatal(err)
	}
}

// grant creates a user without a role, and with a grant for the target of an organization.
func (w *tenancy) grant(on *tenant) *tenant {
	name, whole := "granted", ""
	w.ask("POST", "/v1/users", document.UserRequest{Name: name, Roles: []string{"none"}, Organization: &whole},
		&document.Done{})
	w.ask("POST", "/v1/users/"+name+"/grants", document.GrantRequest{Role: "operate",
		Labels: map[string]string{"role": on.mark}}, &document.Done{})
	var login document.NewLogin
	w.ask("POST", "/v1/users/"+name+"/login", document.LoginRequest{}, &login)
	return &tenant{path: name, mark: name, login: login.Secret, values: on.values, granted: on}
}

// ofOthers returns a page of the audit log without the operations of users of the organization. These operations can
// contain the names of other organizations, because users typed them.
func (w *tenancy) ofOthers(text string) string {
	var p document.AuditPage
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return text
	}
	if len(p.Records) > 0 {
		w.t.Errorf("a user of an organization gets records of the chain: %s", text)
	}
	p.Entries = slices.DeleteFunc(p.Entries, func(e document.AuditEntry) bool { return e.Credential != "" })
	out, err := json.Marshal(p)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(out)
}

func segmentsOf(path string) map[string]bool {
	out := map[string]bool{}
	for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
		out[m[1]] = true
	}
	return out
}

func pathWith(path string, values map[string]string) string {
	return regexp.MustCompile(`\{(\w+)\}`).ReplaceAllStringFunc(path,
		func(s string) string { return url.PathEscape(values[strings.Trim(s, "{}")]) })
}
