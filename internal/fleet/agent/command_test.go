package agent_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
)

func callAction(in compile.Input, name string, params map[string]string, dry bool) (compile.ActionCall, diag.List) {
	return compile.Open(in.Tree).CallAction(in, name, params, dry)
}

// ask sends a job as a hub.
func (n *node) ask(id, what, arg string, c *fleet.Command) fleet.JobAnswer {
	n.t.Helper()
	return n.deliver(fleet.Job{ID: id, What: what, Arg: arg, Run: c, By: "ada"})
}

func (n *node) deliver(job fleet.Job) fleet.JobAnswer {
	n.t.Helper()
	body, _ := json.Marshal(job)
	answer, err := n.hub.handler(fleet.MessageJob)(context.Background(), body)
	var d fleet.JobAnswer
	if err = errorsOf(err, json.Unmarshal(answer, &d)); err != nil {
		n.t.Fatal(err)
	}
	return d
}

// end waits until the hub has the result of a job.
func (n *node) end(id string) fleet.JobAnswer {
	n.t.Helper()
	late := time.After(time.Minute)
	for {
		n.hub.mu.Lock()
		i := slices.IndexFunc(n.hub.ended, func(d fleet.JobAnswer) bool { return d.ID == id })
		if i >= 0 {
			defer n.hub.mu.Unlock()
			return n.hub.ended[i]
		}
		n.hub.mu.Unlock()
		select {
		case <-n.hub.told:
		case <-late:
			n.t.Fatalf("nobody heard how %s ended", id)
		}
	}
}

func (n *node) began() string {
	n.t.Helper()
	select {
	case line := <-n.runs:
		return line
	case <-time.After(time.Minute):
		n.t.Fatal("nothing runs")
	}
	return ""
}

func (n *node) history() []journal.Command {
	n.t.Helper()
	x, _, err := n.engine(context.Background())
	if err != nil {
		n.t.Fatal(err)
	}
	all, err := x.(executor.Commander).Commands(context.Background())
	if err != nil {
		n.t.Fatal(err)
	}
	return all
}

var drain = map[string]string{"module.hcl": `
file "/etc/motd" { content = "x" }
action "drain" {
  param "seconds" { default = 30 }
  param "password" {
    type    = string
    default = "none"
    secret  = true
  }
  command = ["drain", target.name, "${param.seconds}"]
}
`}

func ready(t *testing.T) *node {
	n := newNode(t)
	n.hub.assign(1, top, n.hub.part("modules/base", drain), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	return n
}

// TestJobWithALock: without an agent that acquires slots, the program of a job with a lock does not begin.
func TestJobWithALock(t *testing.T) {
	n := ready(t)
	n.ask("1", fleet.JobRun, "", &fleet.Command{Locks: []string{"db"}, Locked: []string{"uptime"}})
	if d := n.end("1"); d.Result != nil || !strings.Contains(d.Error, "the lock db") {
		t.Errorf("%+v", d)
	}
	if all := n.history(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// A job is accepted immediately, runs once, and its result reaches the hub. The history of the
// target has it with its user.
func TestJobRuns(t *testing.T) {
	n := ready(t)
	if d := n.ask("1", fleet.JobRun, "", &fleet.Command{Argv: []string{"uptime", "-p"}}); !d.Accepted || d.Error != "" {
		t.Fatalf("%+v", d)
	}
	if line := n.began(); line != "uptime -p" {
		t.Error(line)
	}
	if d := n.ask("1", fleet.JobRun, "", &fleet.Command{Argv: []string{"uptime", "-p"}}); !d.Accepted {
		t.Errorf("asked again: %+v", d)
	}
	long := "first\n" + strings.Repeat("y", 2*fleet.MaxTail) + "\nlast\n"
	n.says <- host.CommandResult{ExitCode: 3, Stdout: []byte(long), Stderr: []byte("no\xff\n")}
	d := n.end("1")
	r := d.Result
	if r == nil || r.Exit != 3 || r.Command == 0 || d.Interrupted || d.Error != "" || len(r.Stdout) > fleet.MaxTail ||
		!strings.HasSuffix(r.Stdout, "last\n") || strings.Contains(r.Stdout, "first") || r.Stderr != "no\uFFFD\n" {
		t.Fatalf("%+v", d)
	}
	for range 2 { // repeated by a hub that lost the answer
		if d := n.ask("1", fleet.JobRun, "", &fleet.Command{Argv: []string{"uptime", "-p"}}); d.Result != nil ||
			d.Accepted && n.end("1").Result == nil {
			t.Errorf("%+v", d)
		}
	}
	all := n.history()
	if len(all) != 1 || all[0].User != "ada" || all[0].From != "fleet" ||
		all[0].Typed != "fettle job run -- uptime -p" || all[0].Exit != 3 || all[0].ID != r.Command {
		t.Errorf("%+v", all)
	}
}

// An action is read from the applied modules, and its secrets cannot be set by a job.
func TestJobRunsAnAction(t *testing.T) {
	n := ready(t)
	n.ask("1", fleet.JobRun, "", &fleet.Command{Action: "drain", Params: map[string]string{"seconds": "5"}})
	if line := n.began(); line != "drain web1 5" {
		t.Error(line)
	}
	n.says <- host.CommandResult{}
	if d := n.end("1"); d.Result == nil || d.Result.Exit != 0 || n.history()[0].Action != "base.drain" {
		t.Errorf("%+v %+v", d, n.history())
	}
	n.ask("2", fleet.JobRun, "", &fleet.Command{Action: "drain", Params: map[string]string{"password": "hunter2"}})
	if d := n.end("2"); !strings.Contains(d.Error, "secret") || strings.Contains(d.Error, "hunter2") || d.Result != nil {
		t.Errorf("%+v", d)
	}
	n.ask("3", fleet.JobRun, "", &fleet.Command{Action: "drian"})
	if d := n.end("3"); !strings.Contains(d.Error, "drain") || d.Result != nil {
		t.Errorf("%+v", d)
	}
	n.ask("4", fleet.JobRun, "", &fleet.Command{Action: "service-restart", Params: map[string]string{"name": "nginx"}})
	if line := n.began(); line != "systemctl restart -- nginx" {
		t.Error(line)
	}
	n.says <- host.CommandResult{}
	n.end("4")
	if d := n.ask("5", fleet.JobRun, "", &fleet.Command{}); d.Error == "" || d.Accepted {
		t.Errorf("%+v", d)
	}
}

// On a locally frozen host only read-only commands run, like with fettle run.
func TestJobOnAFrozenMachine(t *testing.T) {
	n := ready(t)
	x, _, err := n.engine(t.Context())
	if err == nil {
		err = x.Freeze(t.Context(), journal.Frozen{By: "ada", Why: "no"}, executor.Options{})
	}
	if err != nil {
		t.Fatal(err)
	}
	n.ask("1", fleet.JobRun, "", &fleet.Command{Argv: []string{"touch"}})
	if d := n.end("1"); !strings.Contains(d.Error, "frozen") || d.Result != nil {
		t.Errorf("%+v", d)
	}
	for id, c := range map[string]fleet.Command{"2": {Argv: []string{"look"}, ReadOnly: true},
		"3": {Argv: []string{"touch"}, IgnoreFreeze: true}} {
		n.ask(id, fleet.JobRun, "", &c)
		if line := n.began(); line != c.Argv[0] {
			t.Error(line)
		}
		n.says <- host.CommandResult{}
		if d := n.end(id); d.Result == nil || d.Result.Exit != 0 {
			t.Errorf("%+v", d)
		}
	}
}

// After any power failure, no command runs twice, and the hub gets the result that the end is
// unknown.
func TestJobIsNotRunTwice(t *testing.T) {
	n := ready(t)
	n.hub.deaf = true
	n.ask("1", fleet.JobRun, "", &fleet.Command{Argv: []string{"reboot"}})
	n.began()
	n.ask("2", fleet.JobRun, "", &fleet.Command{Argv: []string{"second"}})
	disk := n.disk.CrashClone(rand.New(rand.NewPCG(1, 2)))
	n.says <- host.CommandResult{}
	n.began()
	n.ask("3", fleet.JobRun, "", &fleet.Command{Argv: []string{"third"}})
	n.stop() // kills the second
	n.hub.connect(false)
	n.hub.deaf = false
	n.start() // this process was stopped regularly
	n.hub.connect(true)
	if d := n.end("2"); !d.Interrupted || d.Result == nil || d.Result.Signal != "killed" {
		t.Errorf("%+v", d)
	}
	if d := n.end("1"); d.Interrupted || d.Result == nil {
		t.Errorf("%+v", d)
	}
	if line := n.began(); line != "third" {
		t.Errorf("%s runs", line)
	}
	n.says <- host.CommandResult{}
	n.end("3")
	n.stop()
	n.hub.connect(false)

	n.disk, n.hub.ended = disk, nil
	n.start()
	n.hub.connect(true)
	if d := n.end("1"); !d.Interrupted || d.Result != nil || d.Error == "" {
		t.Errorf("%+v", d)
	}
	if line := n.began(); line != "second" { // on this disk the job has not begun
		t.Errorf("%s runs again", line)
	}
	n.says <- host.CommandResult{}
	n.end("2")
}

// A waiting job can be cancelled; a job that has begun cannot.
func TestJobIsCancelled(t *testing.T) {
	n := ready(t)
	n.ask("1", fleet.JobRun, "", &fleet.Command{Argv: []string{"first"}})
	n.began()
	n.ask("2", fleet.JobRun, "", &fleet.Command{Argv: []string{"second"}})
	for _, id := range []string{"1", "2"} {
		if d := n.ask(id+".withdrawn", fleet.JobCancel, id, nil); d.Error != "" {
			t.Errorf("%+v", d)
		}
	}
	if d := n.end("2"); !d.Cancelled {
		t.Errorf("%+v", d)
	}
	n.says <- host.CommandResult{}
	if d := n.end("1"); d.Cancelled || d.Result == nil {
		t.Errorf("%+v", d)
	}
}
