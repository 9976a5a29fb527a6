package apply_test

import (
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
)

// TestValidationAfterACrash: a file that is validated in place is validated again before its run continues.
func TestValidationAfterACrash(t *testing.T) {
	const list = "COPY good /etc/placed validate=\"check /etc/placed\"\nEXEC db /usr/bin/makedb creates=/srv/db\n"
	for text, ok := range map[string]bool{"good text": true, "bad text": false} {
		w := newWorld(t).copy().cutAt(t, list, host.OpRun, "/usr/bin/makedb")
		must(t, put(w.h, "/etc/placed", text)) // content that the validation finds now
		how, err := w.recover(executor.Options{OnCrash: "finish"})
		there, err2 := host.Exists(w.h, "/srv/db")
		must(t, err2)
		if there != ok {
			t.Errorf("%s: %s, %v, and the run continued: %v", text, how, err, there)
		}
	}
}

// TestEndOfAnUndoneRun: the last record of a run states whether something of the run is left.
func TestEndOfAnUndoneRun(t *testing.T) {
	const failing = "COPY a /srv/new\nCOPY bad /etc/checked validate=\"check %s\"\n"
	for policy, want := range map[string]journal.RecordKind{"undo": journal.Undone, "stop": journal.Commit} {
		w := newWorld(t)
		if _, err := w.apply(t, failing, executor.Options{OnFailure: policy}); err == nil {
			t.Fatal("the file was not rejected")
		}
		s, err := journal.OpenWith(w.st, journal.Options{Ballast: -1})
		must(t, err)
		recs, err := s.Read(1)
		must(t, err)
		if got := recs[len(recs)-1].Kind; got != want {
			t.Errorf("on failure %s: the last record is %s", policy, got)
		}
	}
}

// TestFullStore: if an object of a run cannot be stored, the run fails before it changes the host.
func TestFullStore(t *testing.T) {
	full := errors.New("the disk is full")
	for n := 1; ; n++ {
		w, objects := newWorld(t), 0
		w.tap.count = func(op, p string) error {
			if op == host.OpCreate && strings.Contains(p, "objects/") {
				if objects++; objects == n {
					return full
				}
			}
			return nil
		}
		_, err := w.apply(t, "COPY a /srv/new\n", executor.Options{})
		w.tap.count = nil
		if objects < n {
			if n < 4 {
				t.Errorf("a run has only %d objects", objects)
			}
			return
		}
		there, err2 := host.Exists(w.h, "/srv/new")
		must(t, err2)
		if !errors.Is(err, full) || there {
			t.Errorf("object %d: %v, and the host is changed: %v", n, err, there)
		}
	}
}

// unlisted is a file system whose directories cannot be read after an error is set.
type unlisted struct {
	host.FS
	err error
}

func (u *unlisted) ReadDir(p string) ([]string, error) {
	if u.err != nil {
		return nil, u.err
	}
	return u.FS.ReadDir(p)
}

// TestRecoverWithoutJournal: if the runs cannot be listed, it is unknown whether one was interrupted.
func TestRecoverWithoutJournal(t *testing.T) {
	files := &unlisted{FS: newWorld(t).st}
	s, err := journal.OpenWith(files, journal.Options{Ballast: -1})
	must(t, err)
	files.err = errors.New("the disk is broken")
	r := apply.Runner{Store: s}
	if _, _, err := r.Recover(t.Context()); !errors.Is(err, files.err) {
		t.Errorf("%v", err)
	}
}
