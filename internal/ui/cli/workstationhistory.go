package cli

import (
	"fmt"
	"path/filepath"
	"strings"

	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/history"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/render"
	"fettle.dev/fettle/internal/workspace"
)

// WorkstationHistoryDoc is the history of this workstation.
type WorkstationHistoryDoc struct {
	Format  string         `json:"format"` // fettle.here/1
	Entries []historyEntry `json:"deeds"`  // newest first
}

// historyEntry is an entry in the document. Its JSON Schema has the name of this type.
type historyEntry history.Entry

// historyDir returns the directory for the history of this workstation, "" if there is none.
func historyDir(s *Printer) history.Dir {
	if dir := s.App.Env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return history.Dir(filepath.Join(dir, "fettle"))
	}
	if home := s.App.Env("HOME"); filepath.IsAbs(home) {
		return history.Dir(filepath.Join(home, ".local", "state", "fettle"))
	}
	return ""
}

// RolloutFile returns the file for the log of rollouts of an open repository, "" if there is none.
func RolloutFile(s *Printer, src *workspace.Source) string {
	return historyDir(s).RolloutFile(historyOf(src))
}

// RecordInHistory adds a line to the history of this workstation. If this fails, the command, which has run,
// still succeeds.
func (s *Session) RecordInHistory(targets map[string]string) {
	err := historyDir(s.Printer).Add(history.Entry{At: s.App.Now().UnixNano(), User: s.User(), Command: s.Command,
		Targets: targets})
	if err != nil {
		fmt.Fprintf(s.App.Stderr, "warning: cannot keep the history of this workstation: %v\n", err)
	}
}

// Remember records the results of a command on many targets of a repository, for @failed and for the
// history of this workstation.
func Remember(s *Session, src *workspace.Source, all map[string]round.Outcome) {
	results := round.Results(all)
	err := historyDir(s.Printer).SetLast(historyOf(src), history.Last{At: s.App.Now().UnixNano(), Command: s.Command,
		Targets: results})
	if err != nil {
		fmt.Fprintf(s.App.Stderr, "warning: cannot record which targets failed: %v\n", err)
	}
	s.RecordInHistory(results)
}

// historyOf returns the name of an open repository in the history.
func historyOf(src *workspace.Source) history.Repository {
	r := history.Repository{Prefix: src.Prefix}
	if src.Repo != nil {
		r.Top = src.Repo.Top()
	}
	return r
}

// ShowWorkstationHistory shows the operations that were started from here.
func ShowWorkstationHistory(s *Printer, limit int) error {
	all, err := historyDir(s).Entries()
	if err != nil {
		return err
	}
	newest := history.Newest(all, limit)
	if s.JSON {
		doc := WorkstationHistoryDoc{Format: "fettle.here/1", Entries: []historyEntry{}}
		for _, e := range newest {
			doc.Entries = append(doc.Entries, historyEntry(e))
		}
		return s.Document(doc)
	}
	if len(newest) == 0 {
		s.Printf("No operation on targets was started from here yet.\n")
		return nil
	}
	var rows [][]string
	for _, e := range newest {
		rows = append(rows, []string{s.Moment(e.At), e.User, e.Command, historyText(e)})
	}
	s.Style().Table(s.App.Stdout, []string{"TIME", "USER", "COMMAND", "TARGETS"}, rows)
	if left := len(all) - len(newest); left > 0 {
		s.Printf("%d older (-n 0 lists all)\n", left)
	}
	return nil
}

// historyText summarises the results of targets: one target by its name, many by their number.
func historyText(e history.Entry) string {
	count := map[string]int{}
	for name, word := range e.Targets {
		if len(e.Targets) == 1 {
			if name == "" {
				name = "this host"
			}
			return name + ": " + word
		}
		count[word]++
	}
	var parts []string
	for _, st := range append(round.Order(), fanout.Unset) {
		if n := count[st.String()]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	return render.Count(len(e.Targets), "target") + ": " + strings.Join(parts, ", ")
}
