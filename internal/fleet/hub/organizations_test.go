package hub_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/route"
)

// tenancy is a hub with two organizations that share no object, a third below the first, and the fleet itself. Each
// text in a request of an organization contains its marker.
type tenancy struct {
	*world
	client *http.Client
	of     map[string]*tenant // by organization
}

// tenant is an organization with one of each object.
type tenant struct {
	path   string
	mark   string
	login  string            // the secret of an admin
	values map[string]string // of the segments of paths
	also   string            // the ID of the target
	id     *pki.Identity
	link   *bus.Link
	// granted is the organization of the only target of a user with a grant, or nil.
	granted *tenant
}

// TestOrganizationsLearnNothing asks each route of the table in the name of a user of each organization, about its own
// objects, about those of other organizations and about names that were never used. No answer contains a marker of an
// organization outside, answers about others are those about unused names, and nothing of others changes.
func TestOrganizationsLearnNothing(t *testing.T) {
	t.Parallel()
	w := &tenancy{world: newWorld(t), of: map[string]*tenant{}, client: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 4}}}
	files := map[string]string{}
	groups, seed := "", rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for _, path := range []string{"", "acme", "acme/search", "acme2"} {
		mark := fmt.Sprintf("mark%06d", r.IntN(1_000_000))
		w.of[path] = &tenant{path: path, mark: mark}
		files["modules/"+mark+"/module.hcl"] = "file \"/etc/" + mark + "\" {\n  content = \"x\"\n}\n"
		groups += fmt.Sprintf("target_group \"%s\" {\n  labels = { role = \"%[1]s\" }\n  modules = [\"%[1]s\"]\n}\n", mark)
		groups += fmt.Sprintf("lock \"%s\" {\n  slots = 1\n}\nsignal \"%[1]s\" {}\n", mark)
	}
	files["fettle.hcl"] = groups + fmt.Sprintf("organization \"acme/none\" {\n  approvals = 1\n}\n"+
		"organization \"acme/search\" {\n  freeze = %q\n}\norganization \"acme2\" {\n  freeze = %q\n}\n",
		w.of["acme/search"].mark, w.of["acme2"].mark)
	w.commit(files)
	w.birth()
	w.start()
	for _, path := range []string{"", "acme", "acme/search", "acme2"} {
		w.fill(w.of[path])
	}
	for _, of := range w.of {
		until(t, "the report of "+of.path, func() (document.TargetDetail, bool) {
			var d document.TargetDetail
			w.ask("GET", "/v1/targets/"+of.mark, nil, &d)
			return d, d.Target.Run == 1 && d.Target.Modules == 1
		})
	}
	for _, path := range []string{"acme", "acme/search", "acme2"} {
		w.judge(w.of[path])
	}
	w.judge(w.grant(w.of["acme"]))
	w.move(w.of["acme2"], w.of["acme"])
}

// move moves the target of one organization to another. The new one sees the target without its history, and the jobs
// of the previous one no longer reach it.
func (w *tenancy) move(from, to *tenant) {
	t := w.t
	if err := from.link.Close(); err != nil {
		t.Fatal(err)
	}
	const command = "previous"
	run := func(of *tenant, word string) document.JobRequest {
		return document.JobRequest{What: fleet.JobRun, Select: []string{from.mark}, Run: &fleet.Command{Argv: []string{word}}}
	}
	if status, text := w.call(from, "POST", "/v1/jobs", run(from, command)); status != http.StatusOK {
		t.Fatal(status, text)
	}
	at := "/v1/targets/" + from.mark
	w.ask("POST", at+"/move", document.MoveRequest{Organization: to.path, Reason: "sold"}, &document.Done{})
	until(t, "the new organization sees the target", func() (int, bool) {
		status, _ := w.call(to, "GET", at, nil)
		return status, status == http.StatusOK
	})
	if status, _ := w.call(from, "GET", at, nil); status != http.StatusNotFound {
		t.Errorf("the previous organization still sees the target: %d", status)
	}
	for _, path := range []string{"/v1/events?target=" + from.mark + "&after=0.0", "/v1/jobs",
		"/v1/search?q=" + from.mark + "%201"} {
		_, text := w.call(to, "GET", path, nil)
		for _, secret := range []string{`"text":"` + from.mark + `"`, `"by":"` + from.mark + `"`, "previous", "sold",
			`"error":"` + from.mark + `"`} {
			if strings.Contains(strings.Replace(text, `"text":"`+from.mark+` 1"`, "", 1), secret) {
				t.Errorf("%s has %s from before: %s", path, secret, text)
			}
		}
	}
	if status, text := w.call(to, "POST", "/v1/jobs", run(to, "present")); status != http.StatusOK {
		t.Fatal(status, text)
	}
	words := make(chan string, 10)
	link, err := bus.Dial(t.Context(), bus.LinkConfig{ID: from.id.ID, URLs: from.id.BusURLs, TLS: idTLS(from.id)})
	if err == nil {
		defer link.Close()
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
	for {
		select {
		case word := <-words:
			if word == command {
				t.Fatal("the job of the previous organization reached the target")
			}
			if word == "present" {
				return
			}
		case <-time.After(time.Minute):
			t.Fatal("the job of the new organization never came")
		}
	}
}

// fill creates one of each object of an organization.
func (w *tenancy) fill(of *tenant) {
	t, ctx, mark := w.t, w.t.Context(), of.mark
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{Labels: map[string]string{"role": mark}, Uses: 2, Note: mark,
		Organization: of.path}, &tok)
	id, link := w.agent(mark, tok.Secret)
	report, err := json.Marshal(fleet.Report{Format: fleet.ReportFormat, Target: id.ID, Seq: 1,
		At: time.Now().UnixNano(), Event: fleet.Event{Kind: fleet.Failed, Run: 1, Text: mark, Error: mark},
		Status: fleet.Status{Run: 1, Error: mark, Facts: map[string]string{"f": mark}}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the report is stored", func() (error, bool) {
		_, err := link.Ask(ctx, fleet.MessageReport, report)
		return err, err == nil
	})
	user := document.UserRequest{Name: mark, Roles: []string{"admin"}, Organization: &of.path}
	w.ask("POST", "/v1/users", user, &document.Done{})
	var login document.NewLogin
	w.ask("POST", "/v1/users/"+mark+"/login", document.LoginRequest{Note: mark}, &login)
	of.login, of.also, of.id, of.link = login.Secret, string(id.ID), id, link
	at := "/v1/targets/" + mark
	for _, c := range []struct {
		path string
		in   any
	}{{at + "/freeze", document.FreezeRequest{Reason: mark}},
		{at + "/pin", document.PinRequest{Ref: "main", Module: mark, Reason: mark}},
		{at + "/suspect", document.ReasonRequest{Reason: mark}}, {at + "/trust", document.ReasonRequest{Reason: mark}}} {
		if status, text := w.call(of, "POST", c.path, c.in); status != http.StatusOK {
			t.Fatalf("%q: %s: %d %s", of.path, c.path, status, text)
		}
	}
	var job document.Job
	status, text := w.call(of, "POST", "/v1/jobs", document.JobRequest{What: fleet.JobRun, Select: []string{mark},
		Run: &fleet.Command{Argv: []string{"true", mark}}})
	if err := json.Unmarshal([]byte(text), &job); err != nil || status != http.StatusOK {
		t.Fatalf("%q: %d %s", of.path, status, text)
	}
	of.values = map[string]string{"target": mark, "module": mark, "job": job.ID, "user": mark, "login": login.ID,
		"token": tok.Token.ID, "lock": mark, "signal": mark, "run": "1", "rollout": "r1", "exemption": mark, "hub": "hub1",
		"environment": mark, "rule": mark, "notice": mark, "request": "freeze", "commit": "main",
		"kind": "cluster", "scope": mark, "task": mark,
		"organization": of.path}
}

// call sends a request in the name of the admin of an organization.
func (w *tenancy) call(of *tenant, method, path string, in any) (int, string) {
	t := w.t
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(text)
	}
	q, err := http.NewRequestWithContext(ctx, method, w.api+path, body)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+of.login)
	if strings.HasSuffix(path, "/look") || strings.HasSuffix(path, "/work") {
		q.Header.Set("Connection", "Upgrade")
		q.Header.Set("Upgrade", document.ExecutorProtocol)
	}
	a, err := w.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	if a.StatusCode == http.StatusSwitchingProtocols {
		return a.StatusCode, ""
	}
	if strings.Contains(path, "/events/follow") && a.StatusCode == http.StatusOK {
		return a.StatusCode, followed(a.Body)
	}
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, requestID().ReplaceAllString(string(text), `"request":""`)
}

// followed returns the events of a stream until its first pause of the hub, which is an empty line or a long wait.
func followed(body io.ReadCloser) string {
	var out bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(&out, body)
	}()
	time.AfterFunc(500*time.Millisecond, func() { _ = body.Close() })
	<-done
	return out.String()
}

var requestIDs = regexp.MustCompile(`"request":"[^"]*"`)

func requestID() *regexp.Regexp { return requestIDs }

// within reports whether an organization contains another one.
func (of *tenant) within(other *tenant) bool {
	if of.granted != nil {
		return other == of.granted
	}
	return other.path == of.path || strings.HasPrefix(other.path, of.path+"/")
}

// judge asks all routes in the name of an organization.
func (w *tenancy) judge(of *tenant) {
	t := w.t
	for _, r := range route.All() {
		var in any
		if r.In != nil {
			in = reflect.New(reflect.TypeOf(r.In)).Interface()
		}
		if !r.Changes() {
			for _, query := range w.queries(r) {
				path := pathWith(r.Path, of.values) + query
				status, text := w.call(of, r.Method, path, in)
				if r.Path == route.AuditLog().Path {
					text = w.ofOthers(text)
				}
				w.clean(of, r.Method+" "+path, text)
				serves := r.PerTarget || r.Tenant && of.granted == nil
				if serves && status == http.StatusForbidden || !serves && r.Right != route.Open &&
					status != http.StatusForbidden {
					t.Errorf("%q: %s %s: %d %s", of.path, r.Method, path, status, text)
				}
			}
		}
		for _, other := range w.of {
			if !of.within(other) {
				w.foreign(of, other, r, in)
			}
		}
	}
	// Selections of others, and of everything.
	for _, other := range w.of {
		if of.within(other) {
			continue
		}
		for _, sel := range []string{other.mark, other.also, "label:role=" + other.mark, "mark*"} {
			path := "/v1/targets?by=all&all=true&select=" + url.QueryEscape(sel)
			_, text := w.call(of, "GET", path, nil)
			w.clean(of, path, strings.ReplaceAll(text, sel, "SELECTION"))
			_, text = w.call(of, "POST", "/v1/jobs", document.JobRequest{What: fleet.JobReport, Select: []string{sel}})
			w.clean(of, "a job for "+sel, strings.ReplaceAll(text, sel, "SELECTION"))
		}
		for _, q := range []string{"/v1/search?q=" + other.mark, "/v1/search?q=mark", "/v1/search?q=1",
			"/v1/events?target=" + other.mark, "/v1/events?module=" + other.mark, "/v1/events?after=0.0&limit=10000"} {
			_, text := w.call(of, "GET", q, nil)
			echo := strings.NewReplacer(`"text":"`+other.mark+`"`, "", `the target \"`+other.mark+`\"`, "")
			w.clean(of, q, echo.Replace(text))
		}
	}
	var status document.Status
	_, text := w.call(of, "GET", "/v1/status", nil)
	own := 0
	for _, other := range w.of {
		if of.within(other) {
			own++
		}
	}
	if err := json.Unmarshal([]byte(text), &status); err != nil || status.Targets != own || status.Modules != own {
		t.Errorf("%q: the status is %s, want %d targets", of.path, text, own)
	}
}

// queries returns queries for a route without foreign names.
func (w *tenancy) queries(r route.Row) []string {
	switch r.Path {
	case route.Targets().Path:
		return []string{"", "?all=true&by=all&sort=-state&limit=1", "?by=module", "?by=label:role", "?select=*"}
	case route.Events().Path, route.FollowEvents().Path:
		return []string{"", "?after=0.0", "?kind=lock", "?limit=1"}
	case route.Search().Path:
		return []string{"?q=mark", "?q=main"}
	}
	return []string{""}
}

// foreign asks a route about objects of another organization, and about objects that never existed.
func (w *tenancy) foreign(of, other *tenant, r route.Row, in any) {
	for name := range segmentsOf(r.Path) {
		if name == "run" || name == "request" || name == "kind" || other.values[name] == of.values[name] ||
			other.values[name] == "" {
			continue
		}
		foreign := []string{other.values[name]}
		if name == "target" {
			foreign = append(foreign, other.also)
		}
		for _, asked := range foreign {
			values := map[string]string{}
			for k, v := range of.values {
				values[k] = v
			}
			values[name] = asked
			unused := unusedLike(asked)
			status, text := w.call(of, r.Method, pathWith(r.Path, values), in)
			values[name] = unused
			wants, want := w.call(of, r.Method, pathWith(r.Path, values), in)
			got := strings.ReplaceAll(text, asked, unused)
			if exists := status < 400 && r.Path != route.Explain().Path; status != wants || got != want || exists {
				w.t.Errorf("%q asks %s about %s of %q: %d %s, and about an unused name: %d %s", of.path, r.Name(), asked,
					other.path, status, text, wants, want)
			}
		}
	}
}

// unusedLike returns a name of the same form that no object has.
func unusedLike(name string) string {
	last := name[len(name)-1]
	for _, c := range []byte("zy98") {
		if c != last && (c >= 'a') == (last >= 'a') {
			return name[:len(name)-2] + string([]byte{c, c})
		}
	}
	return name + "9"
}

// clean fails if an answer contains a marker or the ID of a target of an organization outside.
func (w *tenancy) clean(of *tenant, what, text string) {
	for _, other := range w.of {
		if of.within(other) {
			continue
		}
		if other.within(of) { // the users above are known where they act
			text = strings.ReplaceAll(text, `"by":"`+other.mark+`"`, "")
		}
		for _, secret := range []string{other.mark, other.also} {
			if strings.Contains(text, secret) {
				w.t.Errorf("%q: %s reveals %s of %q: %s", of.path, what, secret, other.path, text)
			}
		}
	}
}
