package local_test

import "testing"

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

// TestRollbackLeavesADirectoryWithFilesOfOthers: the goal removed a directory, and a later run restored or created
// it. Others put a file into it. A rollback to the goal leaves the directory.
func TestRollbackLeavesADirectoryWithFilesOfOthers(t *testing.T) {
	const managed = "MKDIR /t/d\nMKDIR /t/d/e\n"
	for name, lists := range map[string][2]string{
		"released": {"RM /t/d\n", ""}, "managed": {"RM /t/d\n", managed},
		"purged": {"MKDIR /t purge=true\n", managed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mkdirs("/t/d/e")
			w.write("/t/d/f", "old\n")
			w.applies(lists[0]+beside, nil)
			w.applies(lists[1]+beside, nil)
			w.write("/t/d/e/g", "theirs\n")
			for _, to := range []int{1, 0} {
				w.back(to, false, "")
				w.holds("/t/d/e/g", "\ntheirs")
			}
			w.holds("/t/d/f", "\nold")
		})
	}
}
