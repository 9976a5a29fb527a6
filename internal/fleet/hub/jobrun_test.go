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

// takes makes an agent accept all jobs, and returns them.
func (s *sharer) takes() chan fleet.Job {
	s.t.Helper()
	asked := make(chan fleet.Job, 100)
	err := s.link.Serve(fleet.MessageJob, func(_ context.Context, body []byte) ([]byte, error) {
		var d fleet.Job
		if err := json.Unmarshal(body, &d); err != nil {
			return nil, err
		}
		asked <- d
		return json.Marshal(fleet.JobAnswer{ID: d.ID, Accepted: d.What == fleet.JobRun})
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return asked
}

func (s *sharer) done(d fleet.JobAnswer) error {
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	_, err = s.link.Ask(s.t.Context(), fleet.MessageJobAnswer, body)
	return err
}

func (w *world) jobStates(id string, want string) document.Job {
	w.t.Helper()
	var r document.Job
	until(w.t, want, func() (any, bool) {
		r = document.Job{}
		w.ask("GET", "/v1/jobs/"+id, nil, &r)
		var is []string
		for _, a := range r.Targets {
			is = append(is, a.Name+" "+string(a.State))
		}
		return is, strings.Join(is, ", ") == want
	})
	return r
}

// A command is sent to connected agents and stored for the others. Its result is the exit code and
// the output. It can be cancelled for agents that have not started it.
func TestJobsThatRun(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	w.start()
	web1, web2 := w.sharer("web1", nil), w.sharer("web2", nil)
	asked := web1.takes()
	var r document.Job
	w.ask("POST", "/v1/jobs", document.JobRequest{What: fleet.JobRun, Select: []string{"web*"}, Expires: 3600e9,
		Run: &fleet.Command{Argv: []string{"uptime", "-p"}}}, &r)
	if r.Expires-r.At != 3600e9 || len(r.Targets) != 2 {
		t.Errorf("%+v", r)
	}
	job := <-asked
	if job.ID != r.ID || job.Run == nil || job.Run.Argv[0] != "uptime" || job.By == "" {
		t.Errorf("%+v", job)
	}
	w.jobStates(r.ID, "web1 taken, web2 waits")
	end := fleet.JobAnswer{ID: r.ID, Result: &fleet.CommandResult{Command: 3, Exit: 2, Stdout: "up\n", Stderr: "no\n"}}
	for range 2 {
		if err := web1.done(end); err != nil {
			t.Fatal(err)
		}
	}
	if err := web1.done(fleet.JobAnswer{ID: r.ID, Result: &fleet.CommandResult{Exit: 0}}); err != nil { // a false result
		t.Fatal(err)
	}
	for _, bad := range []fleet.JobAnswer{{ID: r.ID,
		Result: &fleet.CommandResult{Stdout: strings.Repeat("x", fleet.MaxTail+1)}}, {},
		{ID: r.ID, Error: strings.Repeat("x", 1<<20)}} {
		if web1.done(bad) == nil {
			t.Errorf("%.80v is taken", bad)
		}
	}
	if a := w.jobStates(r.ID, "web1 failed, web2 waits").Targets[0]; a.Result == nil || a.Result.Exit != 2 ||
		a.Result.Stdout != "up\n" || a.Result.Stderr != "no\n" || !a.Done {
		t.Errorf("%+v", a)
	}
	var page document.JobPage
	if w.ask("GET", "/v1/jobs", nil, &page); page.Jobs[0].Targets[0].Result.Stdout != "" {
		t.Error("a list has what was said")
	}
	if err := web2.done(end); err != nil { // it was never asked, but it may say so
		t.Fatal(err)
	}
	w.ask("POST", "/v1/jobs", document.JobRequest{What: fleet.JobRun, Select: []string{"web*"},
		Run: &fleet.Command{Action: "drain"}}, &r)
	for at, want := range []int{1, 1, 0} { // pages of one, of two jobs
		w.ask("GET", fmt.Sprintf("/v1/jobs?offset=%d&limit=1", at), nil, &page)
		if page.Total != 2 || len(page.Jobs) != want {
			t.Errorf("page %d: %+v", at, page)
		}
	}
	if job := <-asked; job.Run.Action != "drain" {
		t.Errorf("%+v", job)
	}
	w.jobStates(r.ID, "web1 taken, web2 waits")
	w.ask("POST", "/v1/jobs/"+r.ID+"/cancel", document.ReasonRequest{}, &document.Done{})
	w.jobStates(r.ID, "web1 taken, web2 cancelled")
	if job := <-asked; job.What != fleet.JobCancel || job.Arg != r.ID {
		t.Errorf("%+v", job)
	}
	if err := web1.done(fleet.JobAnswer{ID: r.ID, Cancelled: true}); err != nil {
		t.Fatal(err)
	}
	if r := w.jobStates(r.ID, "web1 cancelled, web2 cancelled"); r.CancelledBy == "" {
		t.Errorf("%+v", r)
	}
	if late := web2.takes(); len(late) != 0 {
		t.Error("web2 is asked to do what was cancelled")
	}
	w.inAudit("/v1/jobs", "uptime")
	w.inAudit("cancel", r.ID)
}
