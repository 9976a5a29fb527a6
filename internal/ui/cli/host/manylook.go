package host

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

func driftMany(ctx context.Context, s *cli.Session, f viewFlags, many cli.ManyFlags, look executor.DriftOptions) error {
	return cli.LookMany(ctx, s, many, "Looking at", "Looked at",
		map[fanout.Status]string{fanout.OK: "in sync", fanout.Changed: "drifted"},
		func(ctx context.Context, _ *cli.Member, x executor.Executor) round.Outcome {
			p, err := x.Drift(ctx, look)
			if err != nil {
				return cli.Failed(err)
			}
			o := round.Outcome{Status: fanout.OK, Line: fmt.Sprintf("%d in sync", p.Unchanged),
				Doc: rundoc.PlanOf(rundoc.DriftFormat, p), Notes: p.Notes}
			if len(p.Changes) > 0 {
				var b bytes.Buffer
				s.Style().Drift(&b, p, f.options(s.Printer))
				o.Status, o.Err, o.Body, o.Line = fanout.Changed, cli.ErrChanges, b.String(),
					render.Count(len(p.Changes), "address")+" differ"
			}
			return o
		})
}

// statusMany shows a table: a target a line.
func statusMany(ctx context.Context, s *cli.Session, many cli.ManyFlags) error {
	cr, err := s.TargetSet(ctx, many)
	if err != nil {
		return err
	}
	defer cr.Close()
	all := cr.Round(ctx, cr.Names, "Asking", true,
		func(ctx context.Context, _ *cli.Member, x executor.Executor) round.Outcome {
			st, err := x.Status(ctx)
			if err != nil {
				return cli.Failed(err)
			}
			return round.Outcome{Status: fanout.OK, Line: statusLine(s.Printer, st), Doc: statusJSON(st), Body: "\x00",
				Notes: st.Notes}
		})
	if !s.JSON {
		var rows [][]string
		for _, name := range cr.Names {
			o := all[name]
			doc, ok := o.Doc.(StatusDoc)
			if !ok {
				rows = append(rows, []string{name, "", "", o.Status.String() + ": " + o.Line})
				continue
			}
			rows = append(rows, append([]string{name}, statusRow(s.Printer, doc)...))
		}
		s.Style().Table(s.App.Stdout, []string{"TARGET", "APPLIED", "LAST RUN", "STATE"}, rows)
		s.Printf("\n")
	}
	err = cli.ExitOf(all)
	cli.ShowCounts(s.Printer, "Asked", all, map[fanout.Status]string{fanout.OK: "answered"}, err)
	return err
}

func statusLine(s *cli.Printer, st executor.Status) string {
	return cli.JoinWords(statusRow(s, statusJSON(st))...)
}

// statusRow is the applied state, the result of the last run, and the pending decision of a user.
func statusRow(s *cli.Printer, d StatusDoc) []string {
	applied, last := "nothing", ""
	if d.Run > 0 {
		applied = fmt.Sprintf("run %d %s", d.Run, render.Short(d.Revision.Commit))
	}
	if d.Last != nil {
		last = fmt.Sprintf("%s %s", s.Moment(d.Last.Started), d.Last.Outcome)
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

func logMany(ctx context.Context, s *cli.Session, many cli.ManyFlags, limit int) error {
	return cli.LookMany(ctx, s, many, "Asking", "Asked", map[fanout.Status]string{fanout.OK: "answered"},
		func(ctx context.Context, m *cli.Member, x executor.Executor) round.Outcome {
			h, left, err := historyOf(ctx, x, limit)
			if err != nil {
				return cli.Failed(err)
			}
			var b bytes.Buffer
			app, out := *m.App, *m.Printer
			app.Stdout = &b
			out.App = &app
			err = showLog(&out, h, left)
			return round.Outcome{Status: fanout.OK, Line: render.Count(len(h.runs)+left, "run"), Body: b.String(),
				Doc: logJSON(h), Err: err}
		})
}
