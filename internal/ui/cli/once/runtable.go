package once

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// tabled returns the outcome of a command that printed JSON. Other output is a failure.
func tabled(o round.Outcome, r *executor.CommandResult) round.Outcome {
	rows, err := round.ReadRows(r.Stdout)
	if err != nil {
		err = fmt.Errorf("cannot read its output as JSON, the declared format: %w", err)
		return round.Outcome{Status: fanout.Failed, Line: "printed no JSON",
			Body: outputText(r) + "error: " + err.Error() + "\n",
			Err:  err, Said: true, Doc: o.Doc}
	}
	o.Rows = rows
	return o
}

// showJSON prints the JSON output of one machine.
func showJSON(s *cli.Printer, r *executor.CommandResult) error {
	_, _ = io.WriteString(s.App.Stderr, r.Stderr) // the exit code reports a closed pipe
	if !r.OK() {
		_, _ = io.WriteString(s.App.Stdout, r.Stdout)
		return nil // told of by its exit
	}
	o := tabled(round.Outcome{}, r)
	if o.Err != nil {
		return o.Err
	}
	if len(o.Rows) == 0 {
		s.Printf("Nothing.\n")
		return nil
	}
	showTable(s, nil, o.Rows)
	return nil
}

// showRows prints the output of targets as one table; equal output appears once.
func showRows(s *cli.Printer, all map[string]round.Outcome) {
	var groups [][]string // of targets
	var said [][]round.Row
	at := map[string]int{}
	for _, name := range cli.SortedNames(all) {
		rows := all[name].Rows
		if rows == nil {
			continue
		}
		key, _ := json.Marshal(rows) // of texts alone
		i, ok := at[string(key)]
		if !ok {
			i = len(groups)
			at[string(key)] = i
			groups, said = append(groups, nil), append(said, rows)
		}
		groups[i] = append(groups[i], name)
	}
	var targets []string
	var rows []round.Row
	for i, names := range groups {
		if len(said[i]) == 0 {
			names = append(names, "(nothing)")
			said[i] = []round.Row{{}}
		}
		for j := range said[i] {
			who := ""
			if j == 0 {
				who = SomeNames(names)
			}
			targets = append(targets, who)
		}
		rows = append(rows, said[i]...)
	}
	if len(rows) > 0 {
		showTable(s, targets, rows)
		s.Printf("\n")
	}
}

// showTable prints rows, with the targets of each in front where there are several.
func showTable(s *cli.Printer, targets []string, rows []round.Row) {
	columns := map[string]bool{}
	for _, r := range rows {
		for name := range r {
			columns[name] = true
		}
	}
	names := cli.SortedNames(columns)
	var header []string
	if targets != nil {
		header = append(header, "TARGETS")
	}
	for _, n := range names {
		header = append(header, strings.ToUpper(n))
	}
	var cells [][]string
	for i, r := range rows {
		var line []string
		if targets != nil {
			line = append(line, targets[i])
		}
		for _, n := range names {
			line = append(line, r[n])
		}
		cells = append(cells, line)
	}
	s.Style().Table(s.App.Stdout, header, cells)
}
