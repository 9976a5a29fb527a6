package local_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
)

const lineInLk = "EDIT /t/lk line=added\n"

// becomesLink lets others replace an edited file by a link to it.
func becomesLink(w *world) {
	w.must(w.aside.Rename("/t/lk", "/t/lk.real"))
	w.must(w.aside.Symlink("lk.real", "/t/lk"))
}

func becomesFile(w *world) {
	w.must(w.aside.Remove("/t/lk"))
	w.must(w.aside.Rename("/t/lk.real", "/t/lk"))
}

func newBlocked(t *testing.T) *world {
	w := newWorld(t)
	w.mkdirs("/t")
	w.write("/t/lk", "theirs\n")
	w.write("/t/x", "before\n")
	w.applies(lineInLk+"COPY 1 /t/x\n", nil)
	becomesLink(w)
	return w
}

// applies runs a list and compares the class of its error.
func (w *world) applies(list string, want error) {
	w.t.Helper()
	_, err := w.x.Apply(context.Background(), request(w.t, list), nil, executor.Options{}, nil)
	if !errors.Is(err, want) || want == nil && err != nil {
		w.t.Fatalf("%q: %v, want %v", list, err, want)
	}
}

func (w *world) holds(p, text string) {
	w.t.Helper()
	if got := w.lines(p); got != text {
		w.t.Fatalf("%s holds %q, want %q", p, got, text)
	}
}

// TestBlockedRemoval: an address that cannot be removed stays managed, everything
// else is done, and a later run finishes it.
func TestBlockedRemoval(t *testing.T) {
	for name, list := range map[string]string{"empty list": "", "another list": "COPY 2 /t/y\n"} {
		t.Run(name, func(t *testing.T) {
			w := newBlocked(t)
			for range 2 {
				w.applies(list, executor.ErrBlocked)
				w.holds("/t/x", "\nbefore")
				w.holds("/t/lk.real", "\nadded\ntheirs")
			}
			p, err := w.x.Plan(context.Background(), request(t, list))
			w.must(err)
			if b := p.NeedingOperator(); len(b) != 1 || b[0] != "edit:/t/lk#line:added" ||
				!strings.Contains(p.Changes[0].Why, "symbolic link") {
				t.Errorf("blocked: %v in %s", b, actions(p))
			}
			becomesFile(w)
			w.applies(list, nil)
			w.holds("/t/lk", "\ntheirs")
		})
	}
}

// TestBlockedWanted: what is wanted and cannot be reached refuses the run.
func TestBlockedWanted(t *testing.T) {
	w := newBlocked(t)
	was := w.look()
	_, err := w.x.Apply(context.Background(), request(t, lineInLk+"COPY 2 /t/x\n"), nil, executor.Options{}, nil)
	if err == nil || !strings.Contains(err.Error(), "/t/lk") {
		t.Errorf("applied: %v", err)
	}
	w.is("a refused run", was)
}

// TestBlockedRollback: a rollback names the address, leaves it out when asked to,
// and restores it later.
func TestBlockedRollback(t *testing.T) {
	for _, to := range []int{0, 1} {
		w := newBlocked(t)
		if to == 1 {
			becomesFile(w)
			w.applies("EDIT /t/lk line=other match=^(added|other)$\nCOPY 2 /t/x\n", nil)
			becomesLink(w)
		}
		was := w.look()
		_, err := w.x.Rollback(context.Background(), executor.RollbackRequest{To: to}, nil, executor.Options{}, nil)
		if err == nil || !strings.Contains(err.Error(), "/t/lk") {
			t.Fatalf("rolled back to %d: %v", to, err)
		}
		w.is("a refused rollback", was)
		for range 2 {
			_, err = w.x.Rollback(context.Background(), executor.RollbackRequest{To: to, SkipBlocked: true}, nil,
				executor.Options{}, nil)
			if !errors.Is(err, executor.ErrBlocked) {
				t.Fatalf("rollback to %d without the blocked address: %v", to, err)
			}
			w.holds("/t/x", []string{"\nbefore", "\none"}[to])
		}
		becomesFile(w)
		w.goBack(to)
		w.holds("/t/lk", []string{"\ntheirs", "\nadded\ntheirs"}[to])
	}
}

// TestHardLinks: a change that would separate hard links is refused before anything
// changes. Metadata is set on all names.
func TestHardLinks(t *testing.T) {
	for _, list := range []string{"COPY 1 /t/x\n", "EDIT /t/x line=added\n", "LINK a /t/x\n"} {
		w := newWorld(t)
		w.mkdirs("/t")
		w.write("/t/x", "linked\n")
		w.must(w.aside.Link("/t/x", "/t/other"))
		was := w.look()
		_, err := w.x.Apply(context.Background(), request(t, "COPY 2 /t/first\n"+list), nil, executor.Options{}, nil)
		if err == nil || !strings.Contains(err.Error(), "2 hard links") {
			t.Errorf("%s: %v", list, err)
		}
		w.is("a refused run", was)
		w.applies("META /t/x mode=0600\n", nil)
		w.applies("COPY 2 /t/first\nRM /t/x\n", nil)
	}
}

// TestHardLinkOfAManagedFile: a file that others linked cannot be removed from the
// list before the link goes.
func TestHardLinkOfAManagedFile(t *testing.T) {
	w := newWorld(t)
	w.mkdirs("/t")
	w.write("/t/x", "before\n")
	w.applies("COPY 1 /t/x\nCOPY 1 /t/y\n", nil)
	w.must(w.aside.Link("/t/x", "/t/other"))
	w.applies("", executor.ErrBlocked)
	if _, there := w.look()["/t/y"]; there {
		t.Error("the other file was not removed")
	}
	w.must(w.aside.Remove("/t/other"))
	w.applies("", nil)
	w.holds("/t/x", "\nbefore")
	p, err := w.x.Plan(context.Background(), request(t, ""))
	w.must(err)
	if len(p.Changes) > 0 || plan.Blocked.Mutates() {
		t.Errorf("left: %s", actions(p))
	}
}
