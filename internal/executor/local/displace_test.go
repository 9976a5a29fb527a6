package local_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
)

// back rolls back to a run, and compares the result with a part of an error.
func (w *world) back(to int, skip bool, want string) {
	w.t.Helper()
	r := executor.RollbackRequest{To: to, SkipBlocked: skip, CrossIrreversible: true}
	_, err := w.x.Rollback(context.Background(), r, nil, executor.Options{}, nil)
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		w.t.Fatalf("rollback to %d: %v, want %q", to, err, want)
	}
}

const (
	beside = "COPY 1 /t/x\n"
	inDir  = "COPY 2 /t/x\nMKDIR /t/d\nMKDIR /t/d/in\nCOPY 1 /t/d/in/ours\n"
)

// TestRollbackKeepsFilesOfOthers: a rollback does not replace a directory in which others
// made a file, at any depth. Without that file, it replaces the directory with all of ours.
func TestRollbackKeepsFilesOfOthers(t *testing.T) {
	for _, theirs := range []string{"/t/d/theirs", "/t/d/in/theirs"} {
		w := newWorld(t)
		w.mkdirs("/t")
		w.write("/t/d", "before\n")
		w.applies(beside, nil)
		w.applies(inDir, nil)
		w.write(theirs, "theirs\n")
		w.back(1, false, "it contains files that fettle does not manage")
		w.holds("/t/x", "\nlines\ntwo")
		for range 2 {
			w.back(1, true, "it contains files that fettle does not manage")
			w.holds("/t/x", "\none")
			w.holds(theirs, "\ntheirs")
			w.holds("/t/d/in/ours", "\none")
		}
		w.must(w.aside.Remove(theirs))
		w.back(1, false, "")
		w.holds("/t/d", "\nbefore")
	}
}

// TestRollbackKeepsAdoptedFiles: a file that a run only found is a file of others. A file that
// a run changed has its original content in no list.
func TestRollbackKeepsAdoptedFiles(t *testing.T) {
	for _, text := range []string{"1", "theirs"} {
		w := newWorld(t)
		w.mkdirs("/t")
		w.write("/t/d", "before\n")
		w.applies(beside, nil)
		w.applies(beside+"MKDIR /t/d\n", nil)
		w.write("/t/d/file", text)
		w.applies(beside+"MKDIR /t/d\nCOPY 1 /t/d/file\n", nil)
		w.back(1, false, "it contains files that fettle does not manage")
	}
}

// TestRollbackReplacesAStoredDirectory: files that a run restored from a stored directory are
// stored, so a rollback replaces that directory again. A file of others that only later runs
// stored is not replaced after it was restored.
func TestRollbackReplacesAStoredDirectory(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d/in")
	w.write("/t/d/in/theirs", "theirs\n")
	w.applies("RM /t/d\n", nil)
	w.applies("COPY 1 /t/d\n", nil)
	w.applies("", nil)
	w.holds("/t/d/in/theirs", "\ntheirs")
	w.back(2, false, "")
	w.holds("/t/d", "\none")

	w = newWorld(t)
	w.mkdirs("/t")
	w.write("/t/d", "before\n")
	w.applies(beside, nil)
	w.applies(inDir, nil)
	w.write("/t/d/in/theirs", "theirs\n")
	w.applies("RM /t/d\n", nil)
	w.back(2, false, "")
	w.holds("/t/d/in/theirs", "\ntheirs")
	w.back(1, false, "it contains files that fettle does not manage")
}

// TestRemovalKeepsFilesOfOthers: a stored directory does not return as long as others have a
// directory with files at the path of a file in it. It stays managed.
func TestRemovalKeepsFilesOfOthers(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "before\n")
	w.applies("RM /t/d\n", nil)
	w.mkdirs("/t/d/f")
	w.write("/t/d/f/theirs", "theirs\n")
	for range 2 {
		w.applies("", executor.ErrBlocked)
		w.holds("/t/d/f/theirs", "\ntheirs")
	}
	w.must(w.aside.Remove("/t/d/f/theirs"))
	w.applies("", nil)
	w.holds("/t/d/f", "\nbefore")
}

// TestRollbackLeavesAnAdoptedLine: runs only adopt a line, and others remove it. No run changed
// the file, so a rollback does not add the line.
func TestRollbackLeavesAnAdoptedLine(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	w.write("/t/lines", "a\nb\n")
	const line = "EDIT /t/lines line=b\n"
	w.applies(line+beside, nil)
	w.applies("COPY 2 /t/x\n", nil)
	w.applies(line+"COPY 2 /t/x\n", nil)
	w.write("/t/lines", "theirs\n")
	w.back(1, false, "")
	w.holds("/t/lines", "\ntheirs")
}
