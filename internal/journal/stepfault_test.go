package journal_test

import (
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// unknown is a step that only a later version of fettle writes.
var unknown = step.Step{Verb: "FROB", Args: []string{"/x"}}

// withUnknown returns a state whose second entry, or second pending action, has the unknown step.
func withUnknown(t *testing.T, where string, format int) journal.State {
	known := must(step.ParseLine("MKDIR /d"))(t)
	st := journal.State{Format: format, Run: 1, Complete: true, Entries: []journal.Entry{
		{Addr: "file:/d", Step: known, Run: 1, FirstRun: 1}, {Addr: "frob:/x", Step: known, Run: 1, FirstRun: 1}},
		Pending: []journal.PendingAct{{Addr: "act:a", Step: known}, {Addr: "act:b", Step: known}}}
	switch where {
	case "step":
		st.Entries[1].Step = unknown
	case "undo":
		st.Entries[1].Undo = unknown
	case "pending":
		st.Pending[1].Step = unknown
	}
	return st
}

// TestUnknownStep: a state with a step that cannot be read is an error with the file and the entry. It
// is not lost or damaged, so no other copy replaces it.
func TestUnknownStep(t *testing.T) {
	for where, place := range map[string]string{"step": `entries[1], "frob:/x"`, "undo": `entries[1], "frob:/x"`,
		"pending": `pending[1], "act:b"`} {
		fsys := mem.NewFS(mem.Options{})
		s := open(t, fsys)
		check(t, end(must(s.Begin(header(1, 0)))(t), withUnknown(t, where, 1), journal.Commit))
		refused := func(file string) {
			t.Helper()
			s := open(t, fsys)
			_, err := s.State()
			var fault *journal.StepError
			var lost *journal.LostError
			if !errors.As(err, &fault) || errors.As(err, &lost) || len(s.Notes()) > 0 ||
				!strings.Contains(err.Error(), file+": "+place+`: cannot read the step "FROB /x": Unknown verb`) {
				t.Errorf("%s: %v %v", where, err, s.Notes())
			}
			if _, err := s.RepairState(); !errors.As(err, &fault) {
				t.Errorf("%s: repaired: %v", where, err)
			}
		}
		refused(`cannot read "/state/000001.json"`)
		lose("/state/000001.json")(t, fsys)
		refused("cannot read the journal of run 1")
	}
}

// TestUnknownStepOfANewerFormat: a newer format is refused as such, whatever its steps are.
func TestUnknownStepOfANewerFormat(t *testing.T) {
	fsys := mem.NewFS(mem.Options{})
	s := open(t, fsys)
	finish(t, s, 1, 0, 1)
	check(t, s.SaveState(withUnknown(t, "step", 2)))
	var newer *journal.NewerFormatError
	if _, err := open(t, fsys).State(); !errors.As(err, &newer) || newer.What != "the state of run 1" {
		t.Errorf("%v", err)
	}
}
