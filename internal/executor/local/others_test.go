package local_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
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

// TestObjectsAtForbiddenPaths: others create a file where the list requires absence. A rollback and a list without
// the path leave it, also in a directory that the rollback would remove.
func TestObjectsAtForbiddenPaths(t *testing.T) {
	const removal, others = "RM /t/d\n", "/t/d/theirs"
	for name, c := range map[string]struct {
		lists []string
		to    []int
	}{
		"the origin":            {[]string{"COPY 1 /t/d/theirs\n", "RM /t/d/theirs\n"}, []int{0}},
		"adopted as absent":     {[]string{removal, "MKDIR /t/d\nRM /t/d/theirs\n"}, []int{1}},
		"a repeated rollback":   {[]string{removal, "", "MKDIR /t/d\n"}, []int{2, 2, 1, 0}},
		"a rollback after that": {[]string{removal, "", "MKDIR /t/d\n"}, []int{1, 2}},
		"in a new directory":    {[]string{"RM /t/d/theirs\n", "MKDIR /t/d\n"}, []int{1}},
		"adopted, then changed": {[]string{removal, "MKDIR /t/d\n", "MKDIR /t/d\nCOPY 1 /t/d/theirs\n"}, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mkdirs("/t")
			if name == "the origin" {
				w.mkdirs("/t/d")
			}
			for i, list := range c.lists {
				if name == "adopted, then changed" && i == 2 {
					w.write(others, contents[1])
				}
				w.applies(list+beside, nil)
			}
			w.write(others, "theirs\n")
			for _, to := range c.to {
				w.back(to, false, "")
				w.holds(others, "\ntheirs")
			}
		})
	}
}

// TestMetadataOfAFileThatReturns: a run removed a file that an edit had created, and failed at its metadata. A rollback
// creates the file again with the metadata.
func TestMetadataOfAFileThatReturns(t *testing.T) {
	const metadata = "META /t/f mode=0750\n"
	w := newWorld(t)
	w.mkdirs("/t")
	w.applies("EDIT /t/f line=a create=true\nEDIT /t/f block=k content=b create=true\n"+metadata+beside, nil)
	list := "EXEC other mark /t/other\n" + metadata + beside
	if _, err := w.x.Apply(t.Context(), request(t, list), nil, executor.Options{}, nil); err == nil {
		t.Fatal("the run did not fail")
	}
	w.applies(beside, nil)
	w.back(1, false, "")
	if st, err := w.aside.Lstat("/t/f"); err != nil || st.Mode&0o777 != 0o750 {
		t.Errorf("the mode is %o, error %v", st.Mode, err)
	}
}

// TestPurgeOfADirectoryInWhichAFileReturns: a directory leaves the list together with its purge, so a file of others
// returns in it. The purge of the directory above removes both in the same run, and its end restores both.
func TestPurgeOfADirectoryInWhichAFileReturns(t *testing.T) {
	const top = "MKDIR /t purge=true\n"
	w := newWorld(t)
	w.applies(top+"MKDIR /t/d purge=true\n", nil)
	w.write("/t/d/theirs", "theirs\n")
	w.applies(top+"MKDIR /t/d purge=true\n", nil)
	w.applies(top, nil)
	p, err := w.x.Plan(t.Context(), request(t, top))
	w.must(err)
	if len(p.Changes) > 0 {
		t.Errorf("the second run would %s %s", p.Changes[0].Action, p.Changes[0].Addr)
	}
	w.applies("MKDIR /t\n", nil)
	w.holds("/t/d/theirs", "\ntheirs")
}

// TestFileInPlaceOfADirectoryInWhichAFileReturns: the plan refuses to replace the directory, so no run fails halfway.
func TestFileInPlaceOfADirectoryInWhichAFileReturns(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	w.applies("MKDIR /t/d purge=true\n", nil)
	w.write("/t/d/theirs", "theirs\n")
	w.applies("MKDIR /t/d purge=true\n", nil)
	_, err := w.x.Plan(t.Context(), request(t, "COPY 1 /t/d\n"))
	if err == nil || !strings.Contains(err.Error(), "directory with entries") {
		t.Errorf("the plan: %v", err)
	}
}

// TestSecondRollbackToAPurgedDirectoryOfOthers: a rollback left a purged directory with a file of others, and the next
// list changed nothing in it. A second rollback leaves the file too.
func TestSecondRollbackToAPurgedDirectoryOfOthers(t *testing.T) {
	const purge = "MKDIR /t purge=true\n"
	for name, next := range map[string]string{"declared": purge + "MKDIR /t/d\n", "released": ""} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mkdirs("/t/d")
			w.applies(purge+beside, nil)
			w.applies(purge+"MKDIR /t/d\n"+beside, nil)
			w.write("/t/d/f", "theirs\n")
			w.back(1, false, "")
			w.applies(next+beside, nil)
			for _, to := range []int{3, 0} {
				w.back(to, false, "")
				w.holds("/t/d/f", "\ntheirs")
			}
		})
	}
}

// TestOriginInAForbiddenDirectory: a rollback left a directory that must be absent, because others had a file in it.
// After a rollback to the origin, a second one only manages the directory again. It must not remove the restored files.
func TestOriginInAForbiddenDirectory(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "old\n")
	w.applies("RM /t/d\n"+beside, nil)
	w.applies(beside, nil)
	w.applies("MKDIR /t/d purge=true\nMKDIR /t/d/e\n"+beside, nil)
	w.write("/t/d/e/g", "theirs\n")
	for _, to := range []int{1, 0, 4, 0} {
		w.back(to, false, "")
		w.holds("/t/d/e/g", "\ntheirs")
	}
	w.holds("/t/d/f", "\nold")
}
