package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
)

// row is an object that a command printed, as cells by column.
type row map[string]string

// plainColumn is the column of a value that is not an object.
const plainColumn = "value"

// readRows reads what a command printed as JSON: objects, one after the other or in
// a list. It is never nil without an error.
func readRows(text string) ([]row, error) {
	rows := []row{}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, e := range list {
			rows = append(rows, rowOf(e))
		}
	}
}

func rowOf(v any) row {
	fields, ok := v.(map[string]any)
	if !ok {
		return row{plainColumn: cell(v)}
	}
	r := row{}
	for name, v := range fields {
		r[name] = cell(v)
	}
	return r
}

// cell returns a value in one line: a text as it is, other values as JSON.
func cell(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case nil:
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v) // the value was JSON before, so this cannot fail
	}
	return string(text)
}

// tabled returns the outcome of a command that printed JSON. Other output is a failure.
func tabled(o outcome, r *executor.CommandResult) outcome {
	rows, err := readRows(r.Stdout)
	if err != nil {
		err = fmt.Errorf("cannot read its output as JSON, the declared format: %w", err)
		return outcome{status: fanout.Failed, line: "printed no JSON", body: outputText(r) + "error: " + err.Error() + "\n",
			err: err, said: true, doc: o.doc}
	}
	o.rows = rows
	return o
}

// showJSON prints the JSON output of one machine.
func showJSON(s *printer, r *executor.CommandResult) error {
	_, _ = io.WriteString(s.app.Stderr, r.Stderr) // the exit code reports a closed pipe
	if !r.OK() {
		_, _ = io.WriteString(s.app.Stdout, r.Stdout)
		return nil // told of by its exit
	}
	o := tabled(outcome{}, r)
	if o.err != nil {
		return o.err
	}
	if len(o.rows) == 0 {
		s.printf("Nothing.\n")
		return nil
	}
	s.table(nil, o.rows)
	return nil
}

// showRows prints the output of targets as one table; equal output appears once.
func showRows(s *printer, all map[string]outcome) {
	var groups [][]string // of targets
	var said [][]row
	at := map[string]int{}
	for _, name := range sortedNames(all) {
		rows := all[name].rows
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
	var rows []row
	for i, names := range groups {
		if len(said[i]) == 0 {
			names = append(names, "(nothing)")
			said[i] = []row{{}}
		}
		for j := range said[i] {
			who := ""
			if j == 0 {
				who = someNames(names)
			}
			targets = append(targets, who)
		}
		rows = append(rows, said[i]...)
	}
	if len(rows) > 0 {
		s.table(targets, rows)
		s.printf("\n")
	}
}

// table prints rows, with the targets of each in front where there are several.
func (s *printer) table(targets []string, rows []row) {
	columns := map[string]bool{}
	for _, r := range rows {
		for name := range r {
			columns[name] = true
		}
	}
	names := sortedNames(columns)
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
	s.style().Table(s.app.Stdout, header, cells)
}
