package local_test

import (
	"slices"
	"testing"
)

// TestRollbackLeavesAReleasedFileOfOthers: the goal removed a file, a later run restored and released it, and
// others wrote it. A rollback to the goal leaves it, and the next apply removes it with their content as origin.
func TestRollbackLeavesAReleasedFileOfOthers(t *testing.T) {
	for name, list := range map[string]string{"purged": "MKDIR /t/d purge=true\n", "absent": "MKDIR /t/d\nRM /t/d/f\n"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mkdirs("/t/d")
			w.write("/t/d/f", "old\n")
			w.applies(list+beside, nil)
			w.applies(beside, nil)
			w.write("/t/d/f", "theirs\n")
			w.back(1, false, "")
			w.holds("/t/d/f", "\ntheirs")
			w.applies(list+beside, nil)
			w.back(0, false, "")
			w.holds("/t/d/f", "\ntheirs")
		})
	}
}

// TestRollbackLeavesAReleasedDirectoryWithFilesOfOthers: the goal removed a directory, a later run restored and
// released it, and others put a file into it. A rollback to the goal leaves their file, and removes the rest.
func TestRollbackLeavesAReleasedDirectoryWithFilesOfOthers(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "old\n")
	w.applies("RM /t/d\n"+beside, nil)
	w.applies(beside, nil)
	w.write("/t/d/g", "theirs\n")
	w.back(1, false, "")
	if names, err := w.h.ReadDir("/t/d"); err != nil || !slices.Equal(names, []string{"g"}) {
		t.Errorf("/t/d has %q, %v", names, err)
	}
	w.holds("/t/d/g", "\ntheirs")
	w.applies("RM /t/d\n"+beside, nil)
	w.back(0, false, "")
	w.holds("/t/d/g", "\ntheirs")
}
