package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/ui/render"
)

// lookMany runs a task that needs no plan on every target. It shows each result, and equal results
// once.
func lookMany(ctx context.Context, s *session, f manyFlags, doing, verb string, words map[fanout.Status]string,
	one func(context.Context, *member, executor.Executor) outcome) error {
	cr, err := s.targetSet(ctx, f)
	if err != nil {
		return err
	}
	defer cr.close()
	return cr.finish(verb, cr.round(ctx, cr.names, doing, true, one), words)
}

func driftMany(ctx context.Context, s *session, f viewFlags, many manyFlags, look executor.DriftOptions) error {
	return lookMany(ctx, s, many, "Looking at", "Looked at",
		map[fanout.Status]string{fanout.OK: "in sync", fanout.Changed: "drifted"},
		func(ctx context.Context, _ *member, x executor.Executor) outcome {
			p, err := x.Drift(ctx, look)
			if err != nil {
				return failed(err)
			}
			o := outcome{status: fanout.OK, line: fmt.Sprintf("%d in sync", p.Unchanged), doc: planJSON("fettle.drift/1", p),
				notes: p.Notes}
			if len(p.Changes) > 0 {
				var b bytes.Buffer
				s.style().Drift(&b, p, f.options(s.printer))
				o.status, o.err, o.body, o.line = fanout.Changed, errChanges, b.String(),
					render.Count(len(p.Changes), "address")+" differ"
			}
			return o
		})
}

// statusMany shows a table: a target a line.
func statusMany(ctx context.Context, s *session, many manyFlags) error {
	cr, err := s.targetSet(ctx, many)
	if err != nil {
		return err
	}
	defer cr.close()
	all := cr.round(ctx, cr.names, "Asking", true, func(ctx context.Context, _ *member, x executor.Executor) outcome {
		st, err := x.Status(ctx)
		if err != nil {
			return failed(err)
		}
		return outcome{status: fanout.OK, line: statusLine(s.printer, st), doc: statusJSON(st), body: "\x00", notes: st.Notes}
	})
	if !s.json {
		var rows [][]string
		for _, name := range cr.names {
			o := all[name]
			doc, ok := o.doc.(statusDoc)
			if !ok {
				rows = append(rows, []string{name, "", "", o.status.String() + ": " + o.line})
				continue
			}
			rows = append(rows, append([]string{name}, statusRow(s.printer, doc)...))
		}
		s.style().Table(s.app.Stdout, []string{"TARGET", "APPLIED", "LAST RUN", "STATE"}, rows)
		s.printf("\n")
	}
	err = exitOf(all)
	showCounts(s.printer, "Asked", all, map[fanout.Status]string{fanout.OK: "answered"}, err)
	return err
}

func statusLine(s *printer, st executor.Status) string {
	return join(statusRow(s, statusJSON(st))...)
}

// statusRow is the applied state, the result of the last run, and the pending decision of a user.
func statusRow(s *printer, d statusDoc) []string {
	applied, last := "nothing", ""
	if d.Run > 0 {
		applied = fmt.Sprintf("run %d %s", d.Run, render.Short(d.Revision.Commit))
	}
	if d.Last != nil {
		last = fmt.Sprintf("%s %s", s.moment(d.Last.Started), d.Last.Outcome)
	}
	var waits []string
	add := func(is bool, text string) {
		if is {
			waits = append(waits, text)
		}
	}
	add(d.Locked != "", "locked")
	add(d.Unfinished > 0 && d.Locked == "", "unfinished run")
	add(d.Armed != nil, "to confirm")
	add(d.Frozen != nil, "frozen")
	add(len(d.Pending) > 0, "pending actions")
	add(!d.Complete && d.Run > 0, "incomplete")
	return []string{applied, last, strings.Join(waits, ", ")}
}

func logMany(ctx context.Context, s *session, many manyFlags, limit int) error {
	return lookMany(ctx, s, many, "Asking", "Asked", map[fanout.Status]string{fanout.OK: "answered"},
		func(ctx context.Context, m *member, x executor.Executor) outcome {
			h, left, err := historyOf(ctx, x, limit)
			if err != nil {
				return failed(err)
			}
			var b bytes.Buffer
			app, out := *m.app, *m.printer
			app.Stdout = &b
			out.app = &app
			err = showLog(&out, h, left)
			return outcome{status: fanout.OK, line: render.Count(len(h.runs)+left, "run"), body: b.String(), doc: logJSON(h),
				err: err}
		})
}

// memory is the record of the last command on many targets on this workstation.
type memory struct {
	At      int64             `json:"at"` // ns since 1970
	Command string            `json:"command"`
	Targets map[string]string `json:"targets"` // the result of each
}

// memoryFile is where that of a repository is, "" where there is no place for it.
func memoryFile(s *printer, src *source) string {
	home := stateHome(s)
	if home == "" {
		return ""
	}
	top := ""
	if src.repo != nil {
		top = src.repo.Top()
	}
	return filepath.Join(home, "last-"+strconv.FormatUint(uint64(crc32.ChecksumIEEE([]byte(top+"\x00"+src.prefix))),
		16)+".json")
}

// remember keeps what became of targets, for @failed.
func remember(s *session, src *source, all map[string]outcome) {
	file := memoryFile(s.printer, src)
	if file == "" {
		return
	}
	m := memory{At: s.app.Now().UnixNano(), Command: s.command, Targets: map[string]string{}}
	for name, o := range all {
		m.Targets[name] = o.status.String()
	}
	text, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = os.WriteFile(file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		fmt.Fprintf(s.app.Stderr, "warning: cannot record which targets failed: %v\n", err)
	}
}

// lastFailed are the targets that the last command on many did not succeed on.
func lastFailed(s *printer, src *source) ([]string, error) {
	file := memoryFile(s, src)
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, refuse("Name them: -t NAME,…",
			"cannot determine the failed targets: no command on many targets of this repository was run from here")
	}
	var m memory
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	var out []string
	for _, name := range sortedNames(m.Targets) {
		switch m.Targets[name] {
		case fanout.Failed.String(), fanout.Unreachable.String(), fanout.Skipped.String():
			out = append(out, name)
		}
	}
	return out, nil
}
