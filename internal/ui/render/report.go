package render

import (
	"fmt"
	"io"
	"time"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

// remainingLimit is the maximum number of changes that are named as not run.
const remainingLimit = 10

// Report prints the result of a run: one line, then the problems that need attention. verb is the past
// tense of the operation, such as "Applied". at is the time zone of times.
func (s Style) Report(w io.Writer, verb string, r *executor.Report, at *time.Location) {
	fmt.Fprintln(w, s.outcome(verb, r))
	s.needs(w, r)
	if r.ConfirmBy > 0 {
		fmt.Fprintf(w, "\nRun %d undoes itself at %s unless you confirm it. Type: %s\n", r.Run,
			Time(time.Unix(0, r.ConfirmBy).In(at)), s.paint(bold, "fettle confirm"))
	}
}

// needs prints the problems that need attention after a run.
func (s Style) needs(w io.Writer, r *executor.Report) {
	s.checks(w, r.Checks)
	for _, f := range r.Rescued {
		s.failure(w, "rescued:", f)
	}
	if f := r.Failed; f != nil && f.Class != apply.VerificationFailed && !r.InPart() {
		s.failure(w, "failed:", f)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "  %s %s\n", s.paint(yellow, "note:"), Escape(n))
	}
	for _, a := range r.Pending {
		fmt.Fprintf(w, "  %s %s was notified and has not run; the next apply runs it\n", s.paint(yellow, "pending:"),
			Escape(a.String()))
	}
	s.remaining(w, r)
}

// GroupReport prints the common result of several runs, without times and numbers of runs.
func (s Style) GroupReport(w io.Writer, verb string, r *executor.Report) {
	fmt.Fprintln(w, s.OutcomeWords(verb, r)+".")
	s.needs(w, r)
}

// OutcomeWords returns the result of a run in a few words.
func (s Style) OutcomeWords(verb string, r *executor.Report) string {
	if len(r.NotUndone) > 0 {
		return "undone, except for " + Count(len(r.NotUndone), "change")
	}
	switch r.Outcome {
	case journal.Failed, journal.Interrupted:
		return fmt.Sprintf("%s: %d changed, %d not reached", r.Outcome, r.Changed, len(r.Remaining))
	case journal.CheckFailed:
		return fmt.Sprintf("a check failed: %d changed", r.Changed)
	case journal.RolledBack:
		return "undone: everything is as before"
	}
	if r.Run == 0 {
		return "no changes were necessary"
	}
	return fmt.Sprintf("%s: %d changed", verb, r.Changed)
}

func (s Style) outcome(verb string, r *executor.Report) string {
	took := Duration(r.Duration)
	if r.Run == 0 && r.Outcome == journal.CheckFailed {
		return s.paint(red, "No changes were necessary, but a check failed.")
	}
	if len(r.NotUndone) > 0 {
		return fmt.Sprintf("%s in %s, except for %s (%s).", s.paint(yellow, "Undone"), took,
			Count(len(r.NotUndone), "change"), runs(r.Run, r.Runs))
	}
	switch r.Outcome {
	case journal.Failed:
		if r.InPart() {
			return fmt.Sprintf("%s in %s, without the states that depend on a failure: %d changed, %d not reached (%s).",
				s.paint(yellow, "Partly done"), took, r.Changed, len(r.Remaining), runs(r.Run, r.Runs))
		}
		return fmt.Sprintf("%s after %s: %d changed, %d not reached (%s).", s.paint(red, "Stopped"), took, r.Changed,
			len(r.Remaining), runs(r.Run, r.Runs))
	case journal.CheckFailed:
		return fmt.Sprintf("%s in %s, but a check failed: %d changed (%s).", s.paint(red, verb), took, r.Changed,
			runs(r.Run, r.Runs))
	case journal.RolledBack:
		return fmt.Sprintf("%s in %s: everything is as it was before (%s).", s.paint(yellow, "Undone"), took,
			runs(r.Run, r.Runs))
	case journal.Interrupted:
		return fmt.Sprintf("%s after %s: %d changed, %d not reached (%s).", s.paint(yellow, "Interrupted"), took, r.Changed,
			len(r.Remaining), runs(r.Run, r.Runs))
	}
	if r.Run == 0 {
		return s.paint(green, "No changes were necessary.")
	}
	return fmt.Sprintf("%s in %s: %d changed (%s).", s.paint(green, verb), took, r.Changed, runs(r.Run, r.Runs))
}

func (s Style) checks(w io.Writer, checks []executor.CheckResult) {
	for _, c := range checks {
		if c.OK {
			fmt.Fprintf(w, "  %s %s\n", s.paint(green, "ok    "), Escape(c.Addr.String()))
			continue
		}
		fmt.Fprintf(w, "  %s %s%s\n", s.paint(red, "failed"), Escape(c.Addr.String()), tail(c.Error))
		if c.Source != "" {
			fmt.Fprintf(w, "         %s\n", s.paint(dim, "from "+Escape(c.Source)))
		}
	}
}

func (s Style) failure(w io.Writer, how string, f *executor.Failure) {
	text := Escape(f.Addr.String())
	if text != "" {
		text += ": "
	}
	lines := escapeLines(f.Error)
	fmt.Fprintf(w, "  %s %s%s\n", s.paint(red, how), text, lines[0])
	for _, l := range lines[1:] {
		fmt.Fprintf(w, "    %s\n", l)
	}
	if f.Step != "" {
		fmt.Fprintf(w, "    %s %s\n", s.paint(dim, "step"), clip(Escape(f.Step), 160))
	}
	if f.Source != "" {
		fmt.Fprintf(w, "    %s %s\n", s.paint(dim, "from"), Escape(f.Source))
	}
}

func (s Style) remaining(w io.Writer, r *executor.Report) {
	switch {
	case len(r.NotUndone) > 0:
		first(w, "stays:", r.NotUndone)
	case r.Outcome != journal.RolledBack:
		first(w, "not reached:", r.Remaining)
	}
}

// first prints the first addresses of a list, and the number of the rest.
func first(w io.Writer, heading string, all []addr.Addr) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w, "  "+heading)
	for i, a := range all {
		if i == remainingLimit {
			fmt.Fprintf(w, "    and %d more\n", len(all)-i)
			return
		}
		fmt.Fprintf(w, "    %s\n", Escape(a.String()))
	}
}
