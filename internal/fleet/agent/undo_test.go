package agent_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/lang/query"
)

// undoable is the cluster of search, whose task import has an undo.
func undoable(digest string) query.Scopes {
	all := search("d1")
	all.Scopes[0].Tasks[0].Undo = &query.ScopeTask{Name: "import", Command: []string{"remove", digest}, Input: "old",
		Timeout: 60, Digest: digest, Verify: &query.Probe{Unit: "removed"}}
	return all
}

// TestTaskIsUndone: a host undoes a task that newer content no longer declares, with the undo of its last content.
func TestTaskIsUndone(t *testing.T) {
	n := newNode(t)
	n.scopes = undoable("u1")
	n.hub.assign(1, top, n.hub.part("modules/base", motd("one\n")), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "a result", kind(fleet.Checked))
	n.probes.Store("removed", "it is there")
	undo := func(id, digest string) {
		n.attempt(id, func(a *fleet.TaskAttempt) { a.Undo, a.Digest = true, digest })
	}
	undo("early", "u1")
	n.ends("early", fleet.TaskRefused, "still declares the task import")
	n.hub.connect(false)
	n.scopes = query.Scopes{}
	n.hub.assign(2, top, n.hub.part("modules/base", motd("two\n")), n.hub.part("modules/web", issue("web\n")))
	n.hub.connect(true)
	n.hub.heard(t, "no checks", func(r fleet.Report) bool {
		return r.Event.Kind == fleet.Checked && r.Status.Checks == nil
	})
	undo("other", "u0")
	n.ends("other", fleet.TaskRefused, "is another one")
	n.attempt("unknown", func(a *fleet.TaskAttempt) { a.Undo, a.Task = true, "plain" })
	n.ends("unknown", fleet.TaskRefused, "has never applied an undo of the task plain")
	n.attempt("removed", nil)
	n.ends("removed", fleet.TaskRefused, "declares no task import")
	n.stop()
	n.start() // the undo is on the disk
	n.hub.heard(t, "the start", kind(fleet.Started))
	undo("done", "u1")
	if line := n.began(); line != "remove u1" {
		t.Errorf("%q runs", line)
	}
	if c := n.command.Load(); string(c.Stdin) != "old" {
		t.Errorf("%+v", c)
	}
	n.probes.Delete("removed")
	n.says <- host.CommandResult{}
	n.ends("done", fleet.TaskDone, "")
	if all := n.history(); len(all) != 1 || all[0].Typed != "undo of task cluster/search import" {
		t.Errorf("%+v", all)
	}
	undo("again", "u1")
	n.ends("again", fleet.TaskVerified, "")
}

// TestUndos: the newest undo of each task is stored, for a limited time and number, and a task that is declared without
// one has none.
func TestUndos(t *testing.T) {
	disk := mem.NewFS(mem.Options{})
	if err := disk.Mkdir("/agent", 0o700); err != nil {
		t.Fatal(err)
	}
	u := &agent.Undos{Files: disk, File: "/agent/undos.json"}
	now := time.Unix(1_700_000_000, 0)
	note := func(all query.Scopes) int {
		t.Helper()
		got, err := u.Note(all, "web1", now)
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	if n := note(undoable("u1")); n != 1 {
		t.Errorf("%d undos", n)
	}
	if n := note(query.Scopes{}); n != 1 {
		t.Errorf("%d undos of a task that was removed", n)
	}
	now = now.Add(179 * 24 * time.Hour)
	if n := note(query.Scopes{}); n != 1 {
		t.Errorf("%d undos after 179 days", n)
	}
	if got, err := u.Note(undoable("u1"), "other", now); err != nil || len(got) != 1 {
		t.Errorf("%v, %v: a target that is not a member keeps its undo", got, err)
	}
	now = now.Add(24 * time.Hour)
	if n := note(query.Scopes{}); n != 0 {
		t.Errorf("%d undos after 180 days", n)
	}
	note(undoable("u1"))
	if n := note(search("d1")); n != 0 {
		t.Errorf("%d undos of a task that is declared without one", n)
	}
	var many query.Scopes
	for i := range 600 {
		many.Scopes = append(many.Scopes, undoable("u1").Scopes[0])
		many.Scopes[i].Name = fmt.Sprint("s", i)
	}
	note(many)
	now = now.Add(time.Second)
	if n := note(undoable("u2")); n != 500 {
		t.Errorf("%d undos of many", n)
	}
	if got, err := u.Note(query.Scopes{}, "web1", now); err != nil || fmt.Sprint(got["cluster/search/import"]) == "" ||
		len(got) != 500 {
		t.Errorf("%d, %v", len(got), err)
	}
	damaged := &agent.Undos{Files: damagedFiles{disk}, File: "/agent/undos.json"}
	if _, err := damaged.Note(undoable("u3"), "web1", now); err == nil {
		t.Error("an undo that cannot be stored is no error")
	}
}

// damagedFiles cannot be written.
type damagedFiles struct{ host.FS }

func (damagedFiles) Rename(string, string) error { return errors.New("no space left") }
