package cli

import (
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/render"
)

// Moment formats a time of the journal (ns since 1970).
func (s *Printer) Moment(ns int64) string {
	if ns == 0 {
		return ""
	}
	return render.Time(time.Unix(0, ns).In(s.App.TimeZone()))
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
