package cli

import (
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/render"
)

// Moment formats a time of the journal (ns since 1970).
func (s *Printer) Moment(ns int64) string {
	if ns == 0 {
		return ""
	}
	return render.Time(time.Unix(0, ns).In(s.App.TimeZone()))
}

// RunDoc is one run as part of a document.
type RunDoc struct {
	Run       int           `json:"run"`
	Operation string        `json:"operation"`
	Started   int64         `json:"started"`         // ns since 1970
	Ended     int64         `json:"ended,omitempty"` // ns since 1970; 0 while unfinished
	Outcome   string        `json:"outcome"`         // unfinished when it has not ended
	Changed   int           `json:"changed"`
	Error     string        `json:"error,omitempty"`
	Base      int           `json:"base"`
	To        int           `json:"to"`
	Target    string        `json:"target,omitempty"`
	Revision  repo.Revision `json:"revision"`
	List      string        `json:"list"`
	User      string        `json:"user"`
	From      string        `json:"from"`
	Command   string        `json:"command"`
	Version   string        `json:"version"`
	PID       int           `json:"pid,omitempty"`       // of the process that began it
	Continues int           `json:"continues,omitempty"` // the phase before, of the same apply
}

// RunJSON converts a run of the journal to its JSON document.
func RunJSON(i journal.RunInfo) RunDoc {
	h := i.Header
	return RunDoc{
		Run: h.Run, Operation: string(h.Operation), Started: i.Started, Ended: i.Ended, Outcome: OutcomeOf(i),
		Changed: i.Changed, Error: i.Error, Base: h.Base, To: h.To, Target: h.Target, Revision: h.Revision,
		List: h.List, User: h.User, From: h.From, Command: h.Command, Version: h.Version, PID: h.PID, Continues: h.Continues,
	}
}

// OutcomeOf names how a run ended, or that it has not.
func OutcomeOf(i journal.RunInfo) string {
	if i.Outcome == "" {
		return "unfinished"
	}
	return string(i.Outcome)
}

// Operation describes a run in one to three words.
func Operation(h journal.Header) string {
	if h.Operation == journal.OpRollback {
		text := "rollback to " + render.RunName(h.To)
		if strings.HasPrefix(h.Command, executor.NotConfirmed) {
			text += ", " + executor.NotConfirmed
		}
		return text
	}
	if h.Continues > 0 {
		return fmt.Sprintf("%s, after %d", h.Operation, h.Continues)
	}
	return string(h.Operation)
}

// DoneDoc is the document of a command that only does something.
type DoneDoc struct {
	Format  string `json:"format"` // fettle.done/1
	Did     string `json:"did"`
	Run     int    `json:"run,omitempty"`
	Message string `json:"message"`
}

// Done tells that something was done.
func (s *Printer) Done(did string, run int, message string) error {
	if s.JSON {
		return s.Document(DoneDoc{"fettle.done/1", did, run, message})
	}
	s.Printf("%s\n", message)
	return nil
}

// NewestFirst returns a copy of runs in the order of the output.
func NewestFirst(runs []journal.RunInfo) []journal.RunInfo {
	out := make([]journal.RunInfo, 0, len(runs))
	for i := len(runs) - 1; i >= 0; i-- {
		out = append(out, runs[i])
	}
	return out
}
