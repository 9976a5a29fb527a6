package local_test

import (
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// TestSecondRollbackKeepsAFileOfOthers: the goal removes a path, and a rollback left a file of others there. A
// second rollback to the goal leaves the file too, although its path is managed again.
func TestSecondRollbackKeepsAFileOfOthers(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	w.write("/t/f", "old\n")
	w.applies("RM /t/f\n"+beside, nil)
	w.back(0, false, "")
	w.write("/t/f", "theirs\n")
	for range 2 {
		w.back(1, false, "")
		w.holds("/t/f", "\ntheirs")
	}
}

// TestSecondRollbackChangesNothing: others removed a directory that the goal has, and a rollback restored it. A
// second rollback has nothing to do.
func TestSecondRollbackChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.applies("MKDIR /t/d\nCOPY 1 /t/d/f\n", nil)
	w.applies("MKDIR /t/d\n", nil)
	w.must(w.h.Remove("/t/d"))
	w.back(1, false, "")
	p, err := w.x.PlanRollback(t.Context(), executor.RollbackRequest{To: 1})
	w.must(err)
	for _, c := range p.Changes {
		if c.Action.Mutates() {
			t.Errorf("the second rollback would %s %s: %s", c.Action, c.Addr, c.Why)
		}
	}
}

// TestRollbackThatSkippedIsNotTheGoal: a rollback skipped a file that others linked. A rollback to this rollback
// restores another state than the goal, so a later rollback to the goal restores the file.
func TestRollbackThatSkippedIsNotTheGoal(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	w.write("/t/f", "theirs\n")
	w.applies(beside, nil)
	w.applies("COPY 2 /t/x\nCOPY 2 /t/f\n", nil)
	w.must(w.aside.Link("/t/f", "/t/other"))
	w.back(1, true, "hard links")
	w.must(w.aside.Remove("/t/other"))
	w.applies(beside, nil)
	w.back(3, false, "")
	w.holds("/t/f", "\nlines\ntwo")
	w.back(1, false, "")
	w.holds("/t/f", "\ntheirs")
}

// TestRollbackKeepsPartsThatOneRunRepaired: others replaced a file, and a run repaired two parts of it. A rollback
// to the run before keeps both parts and the file of others around them.
func TestRollbackKeepsPartsThatOneRunRepaired(t *testing.T) {
	m := newMachine(t)
	list := "EDIT /etc/conf line=a=7 match=^a= create=true\nEDIT /etc/conf block=k content=\"in\\n\" create=true\n"
	m.apply(list, nil)
	m.write("/etc/conf", "theirs\n")
	m.apply(list, nil)
	m.rollback(1)
	m.want("/etc/conf", "theirs\na=7\n# BEGIN fettle k\nin\n# END fettle k\n")
}

// TestRollbackPurgesInADirectoryThatStayed: a rollback to the origin left a directory for the file that it
// restored there. A rollback to the run before removes the file again.
func TestRollbackPurgesInADirectoryThatStayed(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	list := "MKDIR /t/d purge=true\n"
	w.applies(list, nil)
	w.write("/t/d/f", "theirs\n")
	w.applies(list, nil)
	w.back(0, false, "")
	w.holds("/t/d/f", "\ntheirs")
	w.back(2, false, "")
	if _, there := w.look()["/t/d/f"]; there {
		t.Error("the purged file is still there")
	}
}

// TestRollbackRestoresAPurgedFileAfterItsDirectory: a later run removed the directory of a purged path.
func TestRollbackRestoresAPurgedFileAfterItsDirectory(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "old\n")
	w.applies("MKDIR /t/d purge=true\n", nil)
	w.write("/t/d/f", "theirs\n")
	w.applies("RM /t/d\n", nil)
	w.back(1, false, "")
	w.holds("/t/d/f", "\ntheirs")
}

// TestRunRestoresFilesBeforeTheirDirectoryIsPurged: a directory in a purged one leaves the list. The run restores the
// files of others in it before the purge, so that their content is stored with the directory.
func TestRunRestoresFilesBeforeTheirDirectoryIsPurged(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d/e")
	w.write("/t/d/e/f", "theirs\n")
	purge := "MKDIR /t purge=true\n"
	w.applies(purge, nil)
	w.applies(purge+"MKDIR /t/d\nMKDIR /t/d/e\nRM /t/d/e/f\n", nil)
	w.applies(purge, nil)
	if _, there := w.look()["/t/d"]; there {
		t.Error("the directory is not purged")
	}
	w.back(0, false, "")
	w.holds("/t/d/e/f", "\ntheirs")
}

// TestUndoAfterAChangeInARestoredDirectory: a run restored a directory of others and removed a file in it before it
// failed. Its undo removes the directory again: only the run changed it.
func TestUndoAfterAChangeInARestoredDirectory(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d/e")
	w.write("/t/d/e/f", "theirs\n")
	w.applies("MKDIR /t purge=true\n", nil)
	before := w.look()
	_, err := w.x.Apply(t.Context(), request(t, "RM /t/d/e/f\nEXEC fails false\n"), nil,
		executor.Options{OnFailure: "undo"}, nil)
	if err == nil {
		t.Fatal("the run did not fail")
	}
	w.is("the undone run", before)
}
