package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

func commandStore(t *testing.T, f *mem.FS) *journal.Store {
	t.Helper()
	s, err := journal.OpenWith(f, journal.Options{Now: func() time.Time { return time.Unix(1000, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestCommandSurvivesCrashes cuts the power after each operation of recording a
// command: it is then in the history, as ended or as cut short, or it never began;
// and the runs never see it.
func TestCommandSurvivesCrashes(t *testing.T) {
	for stop := 0; ; stop++ {
		n, crashed := 0, (*mem.FS)(nil)
		var f *mem.FS
		dice, counting := rand.New(rand.NewPCG(uint64(stop), 7)), false
		f = mem.NewFS(mem.Options{Count: func(string, string) error {
			if counting && n == stop {
				crashed = f.CrashClone(dice)
			}
			if counting {
				n++
			}
			return nil
		}})
		s := commandStore(t, f)
		counting = true
		c, err := s.BeginCommand(journal.Command{Argv: [][]string{{"true"}}, Deadline: 1})
		if err != nil {
			t.Fatal(err)
		}
		began := n
		c.Outcome = journal.Succeeded
		if err := s.EndCommand(c); err != nil {
			t.Fatal(err)
		}
		if crashed == nil {
			if stop < 5 {
				t.Fatalf("only %d operations were cut", stop)
			}
			return
		}
		checkCommands(t, fmt.Sprintf("cut at %d", stop), commandStore(t, crashed), stop > began)
	}
}

func checkCommands(t *testing.T, name string, s *journal.Store, must bool) {
	t.Helper()
	if err := s.RecoverCommands(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	all, err := s.Commands()
	if err != nil || must && len(all) == 0 {
		t.Fatalf("%s: %v, %v", name, all, err)
	}
	for _, c := range all {
		if c.ID != 1 || c.Outcome != journal.Succeeded && c.Outcome != journal.Interrupted || c.Ended == 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
	runs, err := s.Runs()
	next, nerr := s.NextRun()
	if err != nil || nerr != nil || len(runs) > 0 || next != 1 {
		t.Errorf("%s: the runs are %v, the next is %d: %v, %v", name, runs, next, err, nerr)
	}
	c, err := s.BeginCommand(journal.Command{Argv: [][]string{{"next"}}})
	if err != nil || len(all) > 0 && c.ID != 2 {
		t.Errorf("%s: the next command is c%d: %v", name, c.ID, err)
	}
}

// TestLooksAreSettledLater leaves alone what only looks and may still run.
func TestLooksAreSettledLater(t *testing.T) {
	s := commandStore(t, mem.NewFS(mem.Options{}))
	for _, deadline := range []int64{999e9, 1001e9} {
		if _, err := s.BeginCommand(journal.Command{ReadOnly: true, Deadline: deadline}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.RecoverCommands(); err != nil {
		t.Fatal(err)
	}
	all, err := s.Commands()
	if err != nil || len(all) != 2 || all[0].Outcome != journal.Interrupted || all[1].Outcome != "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestOldCommandsGo keeps the history bounded.
func TestOldCommandsGo(t *testing.T) {
	s := commandStore(t, mem.NewFS(mem.Options{}))
	for range 510 {
		if _, err := s.BeginCommand(journal.Command{}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Commands()
	if err != nil || len(all) != 500 || all[499].ID != 510 {
		t.Errorf("%d kept, %v", len(all), err)
	}
}

// TestCommandIsNotRecorded: if an operation of the disk fails, the command must not run: the error says so.
func TestCommandIsNotRecorded(t *testing.T) {
	full := errors.New("the disk is full")
	for stop := 1; ; stop++ {
		n := -1 << 30 // nothing fails while the store is opened
		s := commandStore(t, mem.NewFS(mem.Options{Count: func(string, string) error {
			if n++; n == stop {
				return full
			}
			return nil
		}}))
		n = 0
		_, err := s.BeginCommand(journal.Command{Argv: [][]string{{"true"}}})
		if n < stop {
			if err != nil || stop < 5 {
				t.Errorf("%d operations, %v", n, err)
			}
			return
		}
		if !errors.Is(err, full) || !strings.Contains(err.Error(), "cannot record the command") {
			t.Errorf("operation %d failed: %v", stop, err)
		}
	}
}
