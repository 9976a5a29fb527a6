package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/step"
)

// StepError means that a stored state or plan has a step that this version of fettle does not know.
// The file itself is complete, so it is neither lost nor damaged.
type StepError struct {
	Place string // in the file, for example entries[3]
	Err   error  // a *step.LineError
}

func (e *StepError) Error() string {
	return fmt.Sprintf("%s: %s; if another version of fettle wrote it, install that version or a later one",
		e.Place, strings.TrimSuffix(e.Err.Error(), "."))
}

func (e *StepError) Unwrap() error { return e.Err }

// stepFault returns the reason why a state with a step that cannot be read is refused: a newer
// format, or the first such step with its place. b is the JSON of the state. Other errors are
// returned unchanged.
func stepFault(b []byte, err error) error {
	var line *step.LineError
	if !errors.As(err, &line) {
		return err
	}
	var st struct {
		Format  int          `json:"format"`
		Run     int          `json:"run"`
		Entries []storedStep `json:"entries"`
		Pending []storedStep `json:"pending"`
	}
	if uerr := Unmarshal(b, &st); uerr != nil {
		return uerr
	}
	if st.Format > format {
		return newerState(st.Run)
	}
	for _, list := range []struct {
		name  string
		steps []storedStep
	}{{"entries", st.Entries}, {"pending", st.Pending}} {
		for i, s := range list.steps {
			if err := s.fault(); err != nil {
				return &StepError{fmt.Sprintf("%s[%d], %q", list.name, i, s.Addr), err}
			}
		}
	}
	return err
}

func newerState(run int) error {
	return &NewerFormatError{What: fmt.Sprintf("the state of run %d", run)}
}

// pieceFault is stepFault for a record with a piece of a state.
func pieceFault(b []byte, err error) error {
	var p struct {
		State json.RawMessage `json:"state"`
	}
	if uerr := json.Unmarshal(b, &p); uerr != nil {
		return uerr
	}
	return stepFault(p.State, err)
}

// storedStep has the steps of an entry or a pending action as text.
type storedStep struct {
	Addr addr.Addr `json:"a"`
	Step string    `json:"s"`
	Undo string    `json:"undo"`
}

func (s storedStep) fault() error {
	for _, text := range []string{s.Step, s.Undo} {
		if _, err := step.ParseLine(text); err != nil {
			return err
		}
	}
	return nil
}

// refuses reports whether an error is about content that another version of fettle wrote. Such
// content is not damaged, so no other copy replaces it.
func refuses(err error) bool {
	var newer *NewerFormatError
	var unknown *StepError
	return errors.As(err, &newer) || errors.As(err, &unknown)
}
