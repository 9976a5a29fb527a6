package host

import (
	"strconv"

	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// LogDoc is the output of log as a JSON document.
type LogDoc struct {
	Format string           `json:"format"` // fettle.log/2
	Runs   []rundoc.RunInfo `json:"runs"`   // newest first
	// Commands are the commands of fettle run and similar commands, newest first.
	Commands []RanDoc `json:"commands"`
}

func showLog(s *cli.Printer, h history, left int) error {
	if s.JSON {
		return s.Document(logJSON(h))
	}
	rows := historyRows(s, h)
	if len(rows) == 0 {
		s.Printf("Nothing was run on this host yet.\n")
		return nil
	}
	s.Style().Table(s.App.Stdout, []string{"RUN", "TIME", "USER", "OPERATION", "CHANGED", "OUTCOME", "REVISION"}, rows)
	if left > 0 {
		s.Printf("%d older (-n 0 lists all)\n", left)
	}
	return nil
}

func logRow(s *cli.Printer, r journal.RunInfo) []string {
	h := r.Header
	return []string{strconv.Itoa(h.Run), s.Moment(r.Started), h.User, cli.Operation(h), strconv.Itoa(r.Changed),
		rundoc.Outcome(r), render.Style{}.Revision(h.Revision)}
}

func logJSON(h history) LogDoc {
	doc := LogDoc{Format: "fettle.log/2", Runs: []rundoc.RunInfo{}, Commands: []RanDoc{}}
	for _, r := range h.runs {
		doc.Runs = append(doc.Runs, rundoc.InfoOf(r))
	}
	for _, c := range h.commands {
		doc.Commands = append(doc.Commands, ranJSON(c))
	}
	return doc
}

// historyRows are the lines of the table, newest first.
func historyRows(s *cli.Printer, h history) [][]string {
	var out [][]string
	for len(h.runs)+len(h.commands) > 0 {
		if one := h.first(1); len(one.runs) == 1 {
			out = append(out, logRow(s, h.runs[0]))
			h.runs = h.runs[1:]
			continue
		}
		c := h.commands[0]
		out = append(out, []string{"c" + strconv.Itoa(c.ID), s.Moment(c.Started), c.User, commandOperation(c), "",
			howCommandEnded(c), ""})
		h.commands = h.commands[1:]
	}
	return out
}
