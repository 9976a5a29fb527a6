package plan_test

import (
	"errors"
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// TestRead: a stored plan is read as the same plan.
func TestRead(t *testing.T) {
	want := somePlan()
	want.Changes[1].Applied = line("MKDIR /x")
	text, err := journal.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := plan.Read(text); err != nil || !reflect.DeepEqual(got, want) || got.Digest() != want.Digest() {
		t.Errorf("read %+v, %v", got, err)
	}
	if p, err := plan.Read(text[1:]); err == nil || p != nil {
		t.Errorf("read a cut plan as %+v", p)
	}
}

// TestReadUnknownStep: a step that cannot be read is an error with the change that has it.
func TestReadUnknownStep(t *testing.T) {
	for name, change := range map[string]func(*plan.Change){
		"desired": func(c *plan.Change) { c.Step = step.Step{Verb: "FROB"} },
		"applied": func(c *plan.Change) { c.Applied = step.Step{Verb: "FROB"} },
	} {
		p := somePlan()
		change(&p.Changes[1])
		text, err := journal.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		_, err = plan.Read(text)
		var fault *journal.StepError
		if !errors.As(err, &fault) || fault.Place != `changes[1], "exec:x"` {
			t.Errorf("%s: %v", name, err)
		}
	}
}
