package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// takes has an agent take all requests, and gives what it is asked.
func (s *sharer) takes() chan fleet.Do {
	s.t.Helper()
	asked := make(chan fleet.Do, 100)
	err := s.link.Serve(fleet.WordDo, func(_ context.Context, body []byte) ([]byte, error) {
		var d fleet.Do
		if err := json.Unmarshal(body, &d); err != nil {
			return nil, err
		}
		asked <- d
		return json.Marshal(fleet.Done{ID: d.ID, Taken: d.What == fleet.DoRun})
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return asked
}

func (s *sharer) done(d fleet.Done) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = s.link.Ask(s.t.Context(), fleet.WordDone, body)
	return err
}

func (w *world) requestIs(id string, want string) document.Request {
	w.t.Helper()
	var r document.Request
	until(w.t, want, func() (any, bool) {
		r = document.Request{}
		w.ask("GET", "/v1/requests/"+id, nil, &r)
		var is []string
		for _, a := range r.Targets {
			is = append(is, a.Name+" "+string(a.Is))
		}
		return is, strings.Join(is, ", ") == want
	})
	return r
}

// What is to be run is asked of those that are there, kept for the others, ends with an exit
// code and what was said, and can be withdrawn from those that have not begun.
func TestRequestsThatRun(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	w.start()
	web1, web2 := w.sharer("web1", nil), w.sharer("web2", nil)
	asked := web1.takes()
	var r document.Request
	w.ask("POST", "/v1/requests", document.DoRequest{What: fleet.DoRun, Select: []string{"web*"}, Expires: 3600e9, Run: &fleet.Command{Argv: []string{"uptime", "-p"}}}, &r)
	if r.Expires-r.At != 3600e9 || len(r.Targets) != 2 {
		t.Errorf("%+v", r)
	}
	do := <-asked
	if do.ID != r.ID || do.Run == nil || do.Run.Argv[0] != "uptime" || do.By == "" {
		t.Errorf("%+v", do)
	}
	w.requestIs(r.ID, "web1 taken, web2 waits")
	end := fleet.Done{ID: r.ID, Result: &fleet.CommandResult{Command: 3, Exit: 2, Stdout: "up\n", Stderr: "no\n"}}
	for range 2 {
		if err := web1.done(end); err != nil {
			t.Fatal(err)
		}
	}
	if err := web1.done(fleet.Done{ID: r.ID, Result: &fleet.CommandResult{Exit: 0}}); err != nil { // it lies now
		t.Fatal(err)
	}
	for _, bad := range []fleet.Done{{ID: r.ID, Result: &fleet.CommandResult{Stdout: strings.Repeat("x", fleet.MaxTail+1)}}, {}, {ID: r.ID, Error: strings.Repeat("x", 1<<20)}} {
		if web1.done(bad) == nil {
			t.Errorf("%.80v is taken", bad)
		}
	}
	if a := w.requestIs(r.ID, "web1 failed, web2 waits").Targets[0]; a.Result == nil || a.Result.Exit != 2 || a.Result.Stdout != "up\n" || a.Result.Stderr != "no\n" || !a.Done {
		t.Errorf("%+v", a)
	}
	var page document.RequestPage
	if w.ask("GET", "/v1/requests", nil, &page); page.Requests[0].Targets[0].Result.Stdout != "" {
		t.Error("a list has what was said")
	}
	if err := web2.done(end); err != nil { // it was never asked, but it may say so
		t.Fatal(err)
	}
	w.ask("POST", "/v1/requests", document.DoRequest{What: fleet.DoRun, Select: []string{"web*"}, Run: &fleet.Command{Action: "drain"}}, &r)
	for at, want := range []int{1, 1, 0} { // pages of one, of two requests
		w.ask("GET", fmt.Sprintf("/v1/requests?offset=%d&limit=1", at), nil, &page)
		if page.Total != 2 || len(page.Requests) != want {
			t.Errorf("page %d: %+v", at, page)
		}
	}
	if do := <-asked; do.Run.Action != "drain" {
		t.Errorf("%+v", do)
	}
	w.requestIs(r.ID, "web1 taken, web2 waits")
	w.ask("POST", "/v1/requests/"+r.ID+"/withdraw", document.ReasonRequest{}, &document.Done{})
	w.requestIs(r.ID, "web1 taken, web2 withdrawn")
	if do := <-asked; do.What != fleet.DoWithdraw || do.Arg != r.ID {
		t.Errorf("%+v", do)
	}
	if err := web1.done(fleet.Done{ID: r.ID, Withdrawn: true}); err != nil {
		t.Fatal(err)
	}
	if r := w.requestIs(r.ID, "web1 withdrawn, web2 withdrawn"); r.Withdrawn == "" {
		t.Errorf("%+v", r)
	}
	if late := web2.takes(); len(late) != 0 {
		t.Error("web2 is asked for what was withdrawn")
	}
	w.inAudit("/v1/requests", "uptime")
	w.inAudit("withdraw", r.ID)
}
