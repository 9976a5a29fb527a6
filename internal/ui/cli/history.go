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

// moment formats a time of the journal (ns since 1970).
func (s *printer) moment(ns int64) string {
	if ns == 0 {
		return ""
	}
	return render.Time(time.Unix(0, ns).In(s.app.zone()))
}

// runDoc is one run as part of a document.
type runDoc struct {
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

func runJSON(i journal.RunInfo) runDoc {
	h := i.Header
	return runDoc{
		Run: h.Run, Operation: string(h.Operation), Started: i.Started, Ended: i.Ended, Outcome: outcomeOf(i),
		Changed: i.Changed, Error: i.Error, Base: h.Base, To: h.To, Target: h.Target, Revision: h.Revision,
		List: h.List, User: h.User, From: h.From, Command: h.Command, Version: h.Version, PID: h.PID, Continues: h.Continues,
	}
}

// outcomeOf names how a run ended, or that it has not.
func outcomeOf(i journal.RunInfo) string {
	if i.Outcome == "" {
		return "unfinished"
	}
	return string(i.Outcome)
}

// operation describes a run in one to three words.
func operation(h journal.Header) string {
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

// doneDoc is the document of a command that only does something.
type doneDoc struct {
	Format  string `json:"format"` // fettle.done/1
	Did     string `json:"did"`
	Run     int    `json:"run,omitempty"`
	Message string `json:"message"`
}

// done tells that something was done.
func (s *printer) done(did string, run int, message string) error {
	if s.json {
		return s.document(doneDoc{"fettle.done/1", did, run, message})
	}
	s.printf("%s\n", message)
	return nil
}

// newestFirst returns a copy of runs in the order of the output.
func newestFirst(runs []journal.RunInfo) []journal.RunInfo {
	out := make([]journal.RunInfo, 0, len(runs))
	for i := len(runs) - 1; i >= 0; i-- {
		out = append(out, runs[i])
	}
	return out
}
