package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/signed"
	"fettle.dev/fettle/internal/host"
)

// tasks returns a host that applied the configuration of search. Its policy refuses commands of users.
func tasks(t *testing.T) *node {
	n := newNode(t)
	n.scopes = search("d1")
	n.admit = func(d fleet.Job) (agent.Admission, error) {
		return agent.AdmitJob(agent.NoCommands, nil, (*signed.Memory)(nil), d)
	}
	n.hub.assign(1, top, n.hub.part("modules/base", motd("one\n")), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	return n
}

// attempt delivers an attempt of the task import of cluster/search, changed by edit.
func (n *node) attempt(id string, edit func(*fleet.TaskAttempt)) {
	n.t.Helper()
	t := &fleet.TaskAttempt{Scope: "cluster/search", Task: "import", Digest: "t1", Fence: 7,
		Expires: time.Now().Add(time.Minute).Unix()}
	if edit != nil {
		edit(t)
	}
	if d := n.deliver(fleet.Job{ID: id, What: fleet.JobTask, Task: t, By: "hub 1"}); !d.Accepted || d.Error != "" {
		n.t.Fatalf("%s: %+v", id, d)
	}
}

func (n *node) ends(id string, outcome fleet.TaskOutcome, says string) fleet.JobAnswer {
	n.t.Helper()
	d := n.end(id)
	if d.Task != outcome || !strings.Contains(d.Error, says) || (says == "") != (d.Error == "") {
		n.t.Errorf("%s: %+v", id, d)
	}
	return d
}

// TestTask: the command runs if the condition does not hold, with its input and fence, and the history has it.
func TestTask(t *testing.T) {
	n := tasks(t)
	n.attempt("holds", nil)
	n.ends("holds", fleet.TaskVerified, "")
	n.probes.Store("imported", "it is missing")
	n.attempt("done", nil)
	if line := n.began(); line != "import x y" {
		t.Errorf("%q runs", line)
	}
	c := n.command.Load()
	if string(c.Stdin) != "text" || !slices.Contains(c.Env, "FETTLE_TASK_FENCE=7") ||
		!slices.Contains(c.Env, "FETTLE_TASK_SCOPE=cluster/search") || c.Timeout > time.Minute || c.Timeout < 50*time.Second {
		t.Errorf("%+v", c)
	}
	n.probes.Delete("imported")
	n.says <- host.CommandResult{Stdout: []byte("imported\n")}
	d := n.ends("done", fleet.TaskDone, "")
	if d.Result == nil || d.Result.Stdout != "imported\n" || d.Interrupted {
		t.Errorf("%+v", d)
	}
	all := n.history()
	if len(all) != 1 || all[0].Typed != "task cluster/search import" || all[0].From != "fleet" || all[0].User != "hub 1" ||
		all[0].ID != d.Result.Command {
		t.Errorf("%+v", all)
	}
	n.attempt("plain", func(a *fleet.TaskAttempt) { a.Task, a.Digest = "plain", "p1" })
	n.began()
	n.says <- host.CommandResult{}
	n.ends("plain", fleet.TaskDone, "")
}

// TestTaskFails: a command that fails, and a condition that does not hold afterwards.
func TestTaskFails(t *testing.T) {
	n := tasks(t)
	n.probes.Store("imported", "it is missing")
	n.attempt("fails", nil)
	n.began()
	n.says <- host.CommandResult{ExitCode: 3}
	if d := n.ends("fails", fleet.TaskFailed, "exit code 3"); d.Result == nil || d.Result.Exit != 3 {
		t.Errorf("%+v", d)
	}
	n.attempt("lasts", nil)
	n.began()
	n.says <- host.CommandResult{TimedOut: true, ExitCode: -1}
	n.ends("lasts", fleet.TaskFailed, "did not end within 1m0s")
	n.attempt("verify", func(a *fleet.TaskAttempt) { a.VerifyOnly = true })
	n.ends("verify", fleet.TaskNotDone, "it is missing")
}

// TestTaskWithoutEffect: the condition does not hold after the command.
func TestTaskWithoutEffect(t *testing.T) {
	t.Parallel()
	n := tasks(t)
	n.probes.Store("imported", "it is missing")
	n.attempt("x", nil)
	n.began()
	n.says <- host.CommandResult{}
	n.ends("x", fleet.TaskFailed, "the condition of verify does not hold: it is missing")
}

// TestTaskIsRefused: another content, another scope, no such task, and an expired attempt start nothing.
func TestTaskIsRefused(t *testing.T) {
	n := tasks(t)
	n.probes.Store("imported", "it is missing")
	for says, edit := range map[string]func(*fleet.TaskAttempt){
		"with another content":              func(a *fleet.TaskAttempt) { a.Digest = "t0" },
		"no task export":                    func(a *fleet.TaskAttempt) { a.Task = "export" },
		"no task import of cluster/missing": func(a *fleet.TaskAttempt) { a.Scope = "cluster/missing" },
		"no task import of cluster/other":   func(a *fleet.TaskAttempt) { a.Scope = "cluster/other" },
		"expired":                           func(a *fleet.TaskAttempt) { a.Expires = time.Now().Add(-time.Minute).Unix() },
		"it has no verify block": func(a *fleet.TaskAttempt) {
			a.Task, a.Digest, a.VerifyOnly = "plain", "p1", true
		},
	} {
		n.attempt(says, edit)
		if d := n.ends(says, fleet.TaskRefused, says); d.Result != nil || d.Interrupted {
			t.Errorf("%+v", d)
		}
	}
	if all := n.history(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// TestTaskOfEndingAgent: an agent that ends during the command does not know the result, and starts it no second time.
func TestTaskOfEndingAgent(t *testing.T) {
	n := tasks(t)
	n.probes.Store("imported", "it is missing")
	n.attempt("x", nil)
	n.began()
	n.stop()
	n.start()
	if d := n.end("x"); !d.Interrupted || d.Task != "" {
		t.Errorf("%+v", d)
	}
	select {
	case line := <-n.runs:
		t.Errorf("it runs again: %s", line)
	default:
	}
}
