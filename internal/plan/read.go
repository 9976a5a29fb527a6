package plan

import (
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// Read decodes a stored plan. If a step cannot be read, the error is a *journal.StepError with the
// first such change.
func Read(text []byte) (*Plan, error) {
	p := &Plan{}
	err := journal.Unmarshal(text, p)
	var line *step.LineError
	if errors.As(err, &line) {
		return nil, stepFault(text, err)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// stepFault returns the first step that cannot be read with its place, otherwise err.
func stepFault(text []byte, err error) error {
	var p struct {
		Changes []struct {
			Addr    addr.Addr `json:"addr"`
			Step    string    `json:"step"`
			Applied string    `json:"applied"`
		} `json:"changes"`
	}
	if uerr := journal.Unmarshal(text, &p); uerr != nil {
		return uerr
	}
	for i, c := range p.Changes {
		for _, line := range []string{c.Step, c.Applied} {
			if _, err := step.ParseLine(line); err != nil {
				return &journal.StepError{Place: fmt.Sprintf("changes[%d], %q", i, c.Addr), Err: err}
			}
		}
	}
	return err
}
