package local_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
)

func (m *machine) time(p string) int64 {
	m.t.Helper()
	st, err := os.Stat(m.at(p))
	m.must(err)
	return st.ModTime().UnixNano()
}

// A file that is the same again, but for its time, gets that time back.
func TestBackToTheTimeOfAFileThatIsTheSameAgain(t *testing.T) {
	m := newMachine(t)
	files := map[string]string{"a": "A", "b": "B"}
	m.write("/etc/a", "A")
	old := time.Unix(1_600_000_000, 7)
	m.must(os.Chtimes(m.at("/etc/a"), old, old))
	m.apply("COPY a /etc/a\n", files)
	m.apply("COPY b /etc/a\n", files)
	m.apply("COPY a /etc/a\n", files)
	if m.time("/etc/a") == old.UnixNano() {
		t.Fatal("writing a file gave it its old time")
	}
	m.rollback(1)
	if got := m.time("/etc/a"); got != old.UnixNano() {
		t.Errorf("its time is %d and was %d", got, old.UnixNano())
	}
}

// What its user put into a home that was made with the account comes back too.
func TestBackToAHomeWithWhatItsUserPutThere(t *testing.T) {
	w := newWorld(t)
	w.apply("USER u1 uid=1700 create_home=true\n")
	w.write("/home/u1/letter", "dear")
	w.apply("MKDIR /m/other\n")
	if _, there := w.look()["/home/u1/letter"]; there {
		t.Fatal("the home stays without its account")
	}
	w.rollback(1)
	if got := w.lines("/home/u1/letter"); got != "dear" {
		t.Errorf("the letter holds %q", got)
	}
}

func (m *machine) remove(p string) error { return os.RemoveAll(m.at(p)) }

// A directory that fettle made stays managed while the list has something in it. What else
// comes into it then is not purged, and the directory goes with the last address in it.
func TestDirectoryInUseGoesWithTheLastAddressInIt(t *testing.T) {
	m := newMachine(t)
	edit := "EDIT /etc/d/conf line=a create=true\n"
	m.apply("MKDIR /etc/d purge=true\n"+edit, nil)
	m.apply(edit, nil)
	m.write("/etc/d/others", "theirs")
	m.apply("MKDIR /etc/d mode=0700\n"+edit, nil)
	m.rollback(2)
	m.want("/etc/d/others", "theirs")
	m.must(m.remove("/etc/d/others"))
	m.apply("MKDIR /etc/e\n", nil)
	if _, err := os.Stat(m.at("/etc/d")); err == nil {
		t.Error("/etc/d is still there")
	}
}

// A file of which only parts changed returns byte for byte if nothing else changed it,
// and otherwise part by part.
func TestBackToAFileWithSeveralParts(t *testing.T) {
	line, block := "EDIT /etc/conf line=a=7 match=^a= create=true\n",
		"EDIT /etc/conf block=k content=\"in\\n\" create=true\n"
	const both = "a=7\n# BEGIN fettle k\nin\n# END fettle k\n"
	for _, c := range []struct{ by, want string }{
		{"", both},
		{"theirs\n", "a=7\n# BEGIN fettle k\nin\n# END fettle k\ntheirs\n"},
	} {
		m := newMachine(t)
		m.apply(line+block, nil)
		m.want("/etc/conf", both)
		m.apply("EDIT /etc/conf block=k ensure=absent\nMETA /etc/conf mode=0600\n"+line, nil)
		m.apply("MKDIR /etc/d\n", nil)
		if c.by != "" {
			m.write("/etc/conf", c.by)
		}
		m.rollback(1)
		m.want("/etc/conf", c.want)
	}
}

// A run failed before it reached a file in a purged directory. The rollback to a rollback to this
// run does not purge the file: no run since has changed it.
func TestBackToARollbackToAFailedRunPurgesNothing(t *testing.T) {
	w := newWorld(t)
	w.must(w.h.Mkdir("/t", 0o755))
	w.must(w.h.Mkdir("/t/d", 0o755))
	w.write("/t/d/theirs", "kept\n")
	list := "MKDIR /t/d mode=0700 purge=true\nEXEC fails false\nEDIT /t/d/theirs line=b ensure=absent\n"
	if _, err := w.x.Apply(t.Context(), request(t, list), nil, executor.Options{}, nil); err == nil {
		t.Fatal("the run did not fail")
	}
	for _, to := range []int{0, 1, 2, 3} {
		w.goBack(to)
	}
	if got := w.lines("/t/d/theirs"); got != "\nkept" {
		t.Errorf("the file of others holds %q", got)
	}
}

// TestOriginOfAnAbsentPathInAPurgedDirectory: a purge removes a directory, and a step requires the absence of a file
// in it. The directory returns without the file, and the rollback to the origin restores the file.
func TestOriginOfAnAbsentPathInAPurgedDirectory(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "theirs\n")
	w.applies("MKDIR /t purge=true\nRM /t/d/f\n"+beside, nil)
	w.applies("RM /t/d/f\n"+beside, nil)
	w.back(0, false, "")
	w.holds("/t/d/f", "\ntheirs")
}

// TestAbsentLineOfAFileWithoutALastNewline: the removal of an added line also removes the newline before it.
func TestAbsentLineOfAFileWithoutALastNewline(t *testing.T) {
	m := newMachine(t)
	m.write("/etc/conf", "theirs")
	m.apply("EDIT /etc/conf line=a=1 match=^a=\n", nil)
	m.apply("EDIT /etc/conf line=a=1 match=^a= ensure=absent\n", nil)
	m.want("/etc/conf", "theirs")
}

// TestFileBelowARestoredTree: a purge removed a directory with a file that fettle had changed, and a step required the
// absence of the file. The rollback to the origin restores the directory, and then the file in it.
func TestFileBelowARestoredTree(t *testing.T) {
	const top = "MKDIR /t purge=true\n"
	w := newWorld(t)
	w.mkdirs("/t/d/e")
	w.write("/t/d/e/f", "theirs\n")
	w.applies(top+"MKDIR /t/d\nMKDIR /t/d/e\nCOPY 2 /t/d/e/f\n", nil)
	w.applies(top+"RM /t/d/e/f\n", nil)
	w.back(0, false, "")
	w.holds("/t/d/e/f", "\ntheirs")
}

// TestOwnFileInARestoredTree: a purge removed a directory with a file that fettle had created. The directory returns
// without the file, in a rollback and when the steps leave the list.
func TestOwnFileInARestoredTree(t *testing.T) {
	for name, leave := range map[string]func(w *world){
		"rollback": func(w *world) { w.back(0, false, "") },
		"apply":    func(w *world) { w.applies(beside, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.mkdirs("/t/d")
			w.applies("MKDIR /t purge=true\nMKDIR /t/d mode=0640\nCOPY 1 /t/d/g\n"+beside, nil)
			w.applies("MKDIR /t purge=true\nRM /t/d/g\n"+beside, nil)
			leave(w)
			if st, err := w.aside.Lstat("/t/d"); err != nil || st.Type != image.Directory {
				t.Errorf("the directory is %+v, %v", st, err)
			}
			if _, err := w.aside.Lstat("/t/d/g"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the file of fettle is there: %v", err)
			}
		})
	}
}

// TestOriginInADirectoryThatReturnsEmpty: a removed directory is created again without its content, and goes with the
// directory above it. The rollback to the origin restores the content.
func TestOriginInADirectoryThatReturnsEmpty(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "theirs\n")
	w.applies("RM /t/d\n"+beside, nil)
	w.applies("MKDIR /t\nMKDIR /t/d mode=0700\n"+beside, nil)
	w.applies("RM /t\n"+beside, nil)
	w.back(0, false, "")
	w.holds("/t/d/f", "\ntheirs")
}

// TestOriginOfAPathWhoseDirectoryLeaves: a removed directory is created again without its content and leaves the list,
// and a step requires the absence of a file in it. A rollback to the run before leaves the file absent, and the
// rollback to the origin restores it.
func TestOriginOfAPathWhoseDirectoryLeaves(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "theirs\n")
	w.applies("RM /t/d\n"+beside, nil)
	w.applies("MKDIR /t\nMKDIR /t/d mode=0700\n"+beside, nil)
	w.applies("RM /t/d/f\n"+beside, nil)
	w.back(2, false, "")
	if _, there := w.look()["/t/d/f"]; there {
		t.Error("the rollback to the run before restored the file")
	}
	w.applies("RM /t/d/f\n"+beside, nil)
	w.back(0, false, "")
	w.holds("/t/d/f", "\ntheirs")
}

// TestOriginInADirectoryLeftToOthers: a rollback leaves a directory in which others created a file. A step that removed
// another file in it leaves the list with the rollback, so the file returns.
func TestOriginInADirectoryLeftToOthers(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t/d")
	w.write("/t/d/f", "theirs\n")
	w.applies("RM /t/d\n"+beside, nil)
	w.applies(beside, nil)
	w.applies("RM /t/d/f\n"+beside, nil)
	w.write("/t/d/other", "new\n")
	w.back(1, false, "")
	w.holds("/t/d/f", "\ntheirs")
	w.back(0, false, "")
	w.holds("/t/d/f", "\ntheirs")
	w.holds("/t/d/other", "\nnew")
}

// A rollback removes an empty file that a run created for a line, although another run kept the file for its metadata.
func TestBackToNoFileForALineThatWent(t *testing.T) {
	m := newMachine(t)
	gone := "EDIT /srv/u/f line=x ensure=absent\n"
	m.apply(gone, nil)
	m.apply("MKDIR /srv/u\nEDIT /srv/u/f line=x create=true\n", nil)
	m.apply(gone+"META /srv/u/f mode=0600\n", nil)
	if _, err := os.Lstat(m.at("/srv/u/f")); err != nil {
		t.Fatal(err)
	}
	m.rollback(1)
	if _, err := os.Lstat(m.at("/srv/u")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory of the file is still there: %v", err)
	}
}
