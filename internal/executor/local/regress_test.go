package local_test

import (
	"context"
	"errors"
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// lists runs a history of lists on a memory host, goes back to each run from
// the last to the first, and to before fettle.
func lists(t *testing.T, prepare func(*world), texts ...string) {
	t.Helper()
	w := newWorld(t)
	w.mkdirs("/t")
	if prepare != nil {
		prepare(w)
	}
	turn := 0
	w.history(texts, func(n int) int { turn++; return max(0, n-1-turn) })
}

func TestBackToFilesOfAUserThatWasGone(t *testing.T) {
	lists(t, nil, "USER u1\nCOPY 1 /home/u1.txt owner=u1\n", "COPY 0 /t/a\n")
}

// Taking one hard link away changes the change time of the others.
func TestPurgeOfHardLinks(t *testing.T) {
	w := newWorld(t)
	w.links("/t/links")
	if _, ok := w.applyLawfully("MKDIR /t/links purge=true\n"); !ok {
		t.Fatal("hard links were not purged")
	}
	was := past{0, w.look()}
	w.rollback(0)
	for _, p := range []string{"/t/links/one", "/t/links/two", "/t/links/deep/three"} {
		if w.look()[p] == was.seen[p] {
			t.Errorf("%s did not come back", p)
		}
	}
}

func (w *world) rollback(to int) {
	w.t.Helper()
	_, err := w.x.Rollback(context.Background(), executor.RollbackRequest{To: to}, nil, executor.Options{}, nil)
	w.must(err)
}

// Whichever region of a file that EDIT made leaves last takes the file along,
// and whichever leaves a file that had no last newline last takes that along.
func TestRegionsLeaveInAnyOrder(t *testing.T) {
	one, two := "EDIT /t/a block=b1 content=t1 create=true\n", "EDIT /t/a key=x value=1 create=true\n"
	for name, text := range map[string]string{"absent": "", "no newline": "no end"} {
		for _, order := range [][]string{{one + two, one, ""}, {one + two, two, ""}, {one, one + two, two, ""},
			{two, one + two, two, ""}} {
			t.Run(name, func(t *testing.T) {
				lists(t, func(w *world) {
					if text != "" {
						w.write("/t/a", text)
					}
				}, order...)
			})
		}
	}
}

func TestBackAcrossADirectoryMadeForAnEditedFile(t *testing.T) {
	lists(t, nil, "COPY 4 /t/b\n", "MKDIR /t/b\nEDIT /t/b/b key=x value=1 create=true\n")
}

func TestBackToAnEditWhereADirectoryIsNow(t *testing.T) {
	lists(t, nil, "EDIT /t/a line=one ensure=absent\n", "MKDIR /t/a\nCOPY 1 /t/a/b\n")
}

func TestBackToAUnitThatWasMaskedLater(t *testing.T) {
	lists(t, nil, "UNIT s1.service active=true\n", "COPY 1 /t/a\n", "UNIT s1.service masked=true\n")
}

func TestBackToAUserWithItsHomeAndGroup(t *testing.T) {
	lists(t, nil, "USER u1 create_home=true\n", "COPY 1 /t/a\n")
}

func TestBackToTheTimeOfAnAdoptedFile(t *testing.T) {
	lists(t, func(w *world) { w.write("/t/b", "one\n") }, "COPY 1 /t/b\n", "RM /t/b\n", "COPY 1 /t/b\n")
}

// What an EDIT saw of a file says nothing when the file itself changes first.
func TestEditOfAFileThatGoesBackToItsOrigin(t *testing.T) {
	lists(t, func(w *world) { w.write("/t/a", "one\n") }, "COPY 2 /t/a\n", "EDIT /t/a line=one ensure=absent\n")
}

// A change of owner takes a capability away before it could be removed.
func TestCapabilityGoesWithAnOwnerThatChanges(t *testing.T) {
	lists(t, func(w *world) {
		w.write("/t/b", "one\n")
		n, err := w.aside.OpenNode("/t/b")
		w.must(err)
		w.must(errors.Join(n.Chown(33, 33), n.SetXattr("security.capability", capability), n.Close()))
	}, "COPY 1 /t/b\n", "COPY 0 /t/b\n", "COPY 1 /t/b\n")
}

func TestDirectoryFollowsOurOwnLink(t *testing.T) {
	lists(t, nil, "MKDIR /t/d\nCOPY 1 /t/d/a\n", "LINK a /t/d\n", "MKDIR /t/d\n")
}

func TestDirectoryNeverReplacesAForeignLink(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	w.must(w.aside.Symlink("/data", "/t/d"))
	if _, ok := w.applyLawfully("MKDIR /t/d\n"); ok {
		t.Error("a foreign link was replaced by a directory")
	}
	if _, ok := w.applyLawfully("LINK /data /t/d\n"); !ok {
		t.Fatal("a link that is in sync was not adopted")
	}
	if _, ok := w.applyLawfully("MKDIR /t/d\n"); ok {
		t.Error("an adopted link was replaced by a directory")
	}
}

func TestBackToTheVersionThatAptChoseThen(t *testing.T) {
	lists(t, nil, "PKG p1\n", "PKG p1 version=1\n")
}

func TestFilesFollowTheirOwnersNewNumber(t *testing.T) {
	lists(t, nil, "USER u1 uid=1700\nCOPY 1 /home/u1.txt owner=u1\n", "USER u1 uid=1600\nCOPY 1 /home/u1.txt owner=u1\n",
		"GROUP g1 gid=1700\nCOPY 1 /t/a group=g1\n", "GROUP g1 gid=1800\nCOPY 1 /t/a group=g1\n")
}

// The metadata that META restores is put on what is there then, not on what was
// there when the plan was made.
func TestBackToMetadataOfAFileThatWasReplaced(t *testing.T) {
	lists(t, func(w *world) {
		w.write("/t/b", "")
		n, err := w.aside.OpenNode("/t/b")
		w.must(err)
		w.must(errors.Join(n.SetXattr("security.capability", capability), n.Close()))
	}, "META /t/b mode=0644 owner=www\n", "COPY 2 /t/b\n", "COPY 0 /t/b\n")
}

func TestBackToADirectoryWithWhatOthersHadInIt(t *testing.T) {
	lists(t, func(w *world) { w.mkdirs("/t/a/deep"); w.write("/t/a/deep/foreign", "f") }, "MKDIR /t/a\nCOPY 1 /t/a/b\n",
		"COPY 1 /t/b\n", "RM /t/a\n")
}

func TestBackToAHomeThatWentLater(t *testing.T) {
	lists(t, nil, "USER u1 create_home=true\n", "USER u1 shell=/bin/zsh\n")
}

func TestBackAcrossAnAddedACL(t *testing.T) {
	lists(t, func(w *world) { w.write("/t/b", "one\n") }, "META /t/b owner=www\n", "META /t/b owner=www acl=u:ann:rw\n",
		"META /t/b mode=0600\n")
}

func TestBackToTheTimeOfAFileWhoseOwnerWasRenumbered(t *testing.T) {
	lists(t, nil, "USER u1\nCOPY 1 /home/u1.txt owner=u1\n", "USER u1 uid=1600\n", "COPY 1 /t/a\n")
}

func TestBackToADirectoryWhoseOriginIsALink(t *testing.T) {
	prepare := func(w *world) { w.must(w.aside.Symlink("a", "/t/a")) }
	lists(t, prepare, "COPY 1 /t/a\n", "MKDIR /t/a\nCOPY 1 /t/a/a\n")
}

// What is behind a link that goes is not what will be at the path.
func TestStepsBelowALinkThatBecomesADirectory(t *testing.T) {
	prepare := func(w *world) { w.mkdirs("/t/other"); w.write("/t/other/x", "one\n") }
	lists(t, prepare, "LINK other /t/a\n", "MKDIR /t/a\nCOPY 1 /t/a/x\nEDIT /t/a/y key=x value=1 create=true\n",
		"LINK a /t/a\n")
}

// The directory becomes a link only once what was below it is done with.
func TestDirectoryWithChildrenBecomesALinkInALoop(t *testing.T) {
	lists(t, nil, "MKDIR /t/a\nMKDIR /t/a/d\nCOPY 1 /t/a/d/x\nCOPY 1 /t/a/y\n", "LINK a /t/a\n")
}

func TestBackToADirectoryThatWasAdjustedAndThenRemoved(t *testing.T) {
	prepare := func(w *world) { w.mkdirs("/t/b/deep"); w.write("/t/b/deep/foreign", "f") }
	lists(t, prepare, "MKDIR /t/b mode=0700\n", "RM /t/b\n")
}

func TestBackToAFileWhoseOriginIsATree(t *testing.T) {
	prepare := func(w *world) { w.mkdirs("/t/a/deep"); w.write("/t/a/deep/foreign", "f") }
	lists(t, prepare, "RM /t/a\n", "COPY 1 /t/a\n", "COPY 1 /t/b\n")
}

func TestBackToAPurgeThatWasGivenUp(t *testing.T) {
	prepare := func(w *world) { w.mkdirs("/t/a/deep"); w.write("/t/a/deep/foreign", "f"); w.write("/t/a/x", "g") }
	for _, order := range [][]int{{1, 0}, {1, 1}, {2, 0}, {0, 1}, {2, 1}} {
		w := newWorld(t)
		w.mkdirs("/t")
		prepare(w)
		turn := 0
		w.history([]string{"MKDIR /t/a purge=true\nCOPY 4 /t/a/a\n", "MKDIR /t/a mode=0600\nCOPY 3 /t/a/deep\n",
			"COPY 4 /t/a/x\n"}, func(int) int { turn++; return order[turn-1] })
	}
}

func TestBackToAUserWhoseOwnGroupGotAnotherNumber(t *testing.T) {
	lists(t, nil, "USER u1\n", "COPY 1 /t/a\n", "GROUP g1\nUSER u1 uid=1600\n")
}

// A tree that comes back can hold anything where a directory is to be made.
func TestBackToADirectoryInATreeThatComesBack(t *testing.T) {
	prepare := func(w *world) { w.mkdirs("/t/b"); w.write("/t/b/a", "foreign") }
	lists(t, prepare, "MKDIR /t/b\nMKDIR /t/b/a\nCOPY 1 /t/b/a/a\n", "RM /t/b\n", "COPY 1 /t/c\n")
}

func TestStepsInATreeThatComesBack(t *testing.T) {
	prepare := func(w *world) { w.mkdirs("/t/a"); w.write("/t/a/a", "foreign") }
	lists(t, prepare, "RM /t/a\n", "RM /t/a/a\nCOPY 2 /t/a/b\n")
}

func TestUnitIsStartedBeforeItIsMasked(t *testing.T) {
	lists(t, nil, "UNIT s1.service active=true\n", "UNIT s1.service masked=true\n", "COPY 1 /t/a\n")
}

// A region whose place was noted when the file had fewer lines does not end up
// inside a block.
func TestBackToARegionBelowABlockThatGrew(t *testing.T) {
	one := "EDIT /t/a block=b1 content=\"t1\\n\" create=true\nEDIT /t/a key=x value=2 create=true\n"
	two := "EDIT /t/a block=b1 content=\"\" create=true\nEDIT /t/a key=x value=2 create=true\n"
	lists(t, nil, "COPY 1 /t/a\n", one, two)
}

func TestFileInSyncUntilItsMetadataIsUndone(t *testing.T) {
	lists(t, func(w *world) { w.write("/t/a", "") }, "META /t/a mode=1777 owner=www\n",
		"COPY 0 /t/a owner=www mode=1777\n")
}

func TestBackToAnEnabledUnitThatIsMaskedNow(t *testing.T) {
	lists(t, nil, "UNIT s1.service enabled=true\n", "UNIT s1.service masked=true\n")
	w := newWorld(t)
	if _, ok := w.applyLawfully("UNIT s1.service masked=true\n"); !ok {
		t.Fatal("a unit was not masked")
	}
	if _, ok := w.applyLawfully("UNIT s1.service enabled=true\n"); ok {
		t.Error("a masked unit was enabled")
	}
}

// A directory of ours leaves the list while the one above it begins to purge. What others
// have in it goes along, and returns when the purge is given up.
func TestPurgeOfADirectoryThatLeaves(t *testing.T) {
	w := newWorld(t)
	w.apply("MKDIR /t\nMKDIR /t/d\nMKDIR /t/d/e\nCOPY 1 /t/d/e/f\n")
	w.write("/t/d/e/foreign", "of others")
	w.apply("MKDIR /t purge=true\n")
	if got := w.look(); got["/t/d"] != "" {
		t.Errorf("it stays: %v", got)
	}
	w.apply("MKDIR /t\n")
	w.holds("/t/d/e/foreign", "of others")
	if got := w.look()["/t/d/e/f"]; got != "" {
		t.Errorf("our file returned: %s", got)
	}
}

// A purge takes the other name of a file away before the file is replaced.
func TestPurgeOfAHardLinkBeforeItsFileChanges(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	w.write("/t/f", "old")
	w.must(w.aside.Link("/t/f", "/t/other"))
	w.apply("MKDIR /t purge=true\nCOPY 1 /t/f\n")
	if got := w.look(); got["/t/other"] != "" {
		t.Errorf("it stays: %v", got)
	}
}

// A directory that fettle made is removed, not purged, where a step says that it must not
// exist, and an empty directory has no files of others that must return.
func TestBackToAFileWhereADirectoryWasRemoved(t *testing.T) {
	made, gone := "MKDIR /t/a purge=true\nMKDIR /t/a/d\n", "MKDIR /t/a purge=true\nRM /t/a/d\n"
	for _, l := range [][]string{{made, gone}, {made, gone, made}, {made, "MKDIR /t/a purge=true\n", made}} {
		w := newWorld(t)
		w.mkdirs("/t")
		w.write("/t/a", "x")
		w.history(l, func(n int) int { return n - 1 })
	}
}
