package step

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/diag"
)

// Stored plans, states and messages contain steps as text. MarshalText and UnmarshalText convert
// them where bytes are written and read, so other code handles only steps.

// LineError means that a stored text is not a step of this version of fettle.
type LineError struct {
	Text   string
	Faults diag.List // empty if Text is not exactly one line with a step
}

func (e *LineError) Error() string {
	if len(e.Faults) == 0 {
		return fmt.Sprintf("cannot read the step %.80q: it is not one line with a step", e.Text)
	}
	faults := make([]string, len(e.Faults))
	for i, d := range e.Faults {
		faults[i] = d.Summary + ": " + d.Detail
	}
	return fmt.Sprintf("cannot read the step %.80q: %s", e.Text, strings.Join(faults, " "))
}

// ParseLine parses one stored step. The result has no Source, Written and Range, and prints as text: a
// stored step keeps its bytes. "" is the zero Step. The error is a *LineError with every fault.
func ParseLine(text string) (Step, error) {
	var r LineReader
	return r.Read(text)
}

// MarshalText returns the canonical line; nothing for the zero Step.
func (s Step) MarshalText() ([]byte, error) { return s.appendTo(nil), nil }

// UnmarshalText is ParseLine.
func (s *Step) UnmarshalText(text []byte) error {
	read, err := ParseLine(string(text))
	if err == nil {
		*s = read
	}
	return err
}

// IsZero reports whether the step is the zero Step, which means that there is no step.
func (s Step) IsZero() bool { return s.Verb == "" }

// Stored returns the step as ParseLine reads its text: without Source, Written, Range and Trace, and
// with its text cached.
func (s Step) Stored() Step {
	return Step{Verb: s.Verb, Args: s.Args, Attrs: s.Attrs, canonical: s.String()}
}

// LineReader reads many stored steps with few allocations. The zero value is ready to use.
type LineReader struct{ p parser }

// Read is ParseLine.
func (r *LineReader) Read(text string) (Step, error) {
	if text == "" {
		return Step{}, nil
	}
	if strings.ContainsAny(text, "\r\n") {
		return Step{}, &LineError{Text: text}
	}
	p := &r.p
	p.list, p.diags, p.line = p.list[:0], nil, text
	p.readLine()
	if len(p.diags) == 0 && len(p.list) == 1 {
		s := Step{Verb: p.list[0].Verb, Args: p.list[0].Args, Attrs: p.list[0].Attrs, canonical: text}
		if len(s.Attrs) == 0 {
			s.Attrs = nil
		}
		return s, nil
	}
	return Step{}, &LineError{text, p.diags}
}
