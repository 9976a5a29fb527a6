package agent_test

import (
	"errors"
	"testing"

	"fettle.dev/fettle/internal/journal"
)

// TestInterruptedRun: if all processes of an earlier run were killed, the next run recovers it first.
func TestInterruptedRun(t *testing.T) {
	n := newNode(t)
	store, err := journal.Open(n.st)
	if err != nil {
		t.Fatal(err)
	}
	list, err1 := store.PutBytes(nil)
	text, err2 := store.PutBytes([]byte("{}"))
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	j, err := store.Begin(journal.Header{Run: 1, Operation: journal.OpApply, OnFailure: "undo", OnCrash: "undo",
		List: list, Plan: text})
	if err == nil {
		err = j.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	n.hub.assign(1, top, n.hub.part("modules/base", motd("fine\n")), n.hub.part("modules/web", issue("web\n")))
	n.start()
	n.hub.connect(true)
	n.hub.heard(t, "ready", isReady)
	if n.read("/etc/motd") != "fine\n" {
		t.Errorf("the content is %q", n.read("/etc/motd"))
	}
	if _, open, err := store.Unfinished(); open || err != nil {
		t.Errorf("a run is unfinished: %t, %v", open, err)
	}
}
