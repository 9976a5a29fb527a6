package once

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

// fewTargets is up to how many targets lines are shown while they come.
const fewTargets = 4

// runMany runs a command on every target that is selected.
func runMany(ctx context.Context, s *cli.Session, f RunningFlags, cmd executor.Command, json bool) error {
	cr, err := s.TargetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.Close()
	if f.dryRun {
		return wouldRun(s.Printer, cmd, cr.Names)
	}
	return cr.Finish("Ran it on", commandEach(ctx, cr, cr.Names, json, always(cmd)), ranWords())
}

// commandOf returns the command of a target, or its result if there is no command.
type commandOf func(context.Context, *cli.Member) (executor.Command, *round.Outcome, error)

func always(cmd executor.Command) commandOf {
	return func(context.Context, *cli.Member) (executor.Command, *round.Outcome, error) { return cmd, nil, nil }
}

func ranWords() map[fanout.Status]string { return map[fanout.Status]string{fanout.OK: "succeeded"} }

// commandEach runs on targets what each is given for it. json tells that it prints JSON,
// which is shown when all have ended.
func commandEach(ctx context.Context, cr *cli.TargetSet, names []string, json bool,
	of commandOf) map[string]round.Outcome {
	cr.Changes, cr.Acts = true, true
	lines := linesOf(cr, names)
	if json {
		lines = nil
	}
	cr.Quiet = lines != nil
	all := cr.Round(ctx, names, "Running", true, func(ctx context.Context, m *cli.Member,
		x executor.Executor) round.Outcome {
		cmd, instead, err := of(ctx, m)
		if err != nil {
			return cli.Failed(err)
		}
		if instead != nil {
			return *instead
		}
		cx, ok := x.(executor.Commander)
		if !ok {
			return cli.Failed(errors.New("cannot run commands there: it only accepts step lists"))
		}
		show, flush := lines.of(m.Target)
		res, err := cx.Command(ctx, cmd, m.RunOptions(), show)
		flush()
		o := outcomeOfCommand(res, err)
		if err == nil {
			o.Doc = commandJSON(cmd, res)
			if len(cr.Names) == 1 && res.Exit > 0 {
				o.Err = cli.ProgramExit(res.Exit)
			}
		}
		switch {
		case json && err == nil && res.OK() && !cr.Session.JSON:
			return tabled(o, res)
		case lines == nil && res != nil:
			o.Body = outputText(res) + o.Body
		}
		return o
	})
	showRows(cr.Session.Printer, all)
	return all
}

// outcomeOfCommand returns the result of a command, without its output.
func outcomeOfCommand(r *executor.CommandResult, err error) round.Outcome {
	if err != nil || r == nil {
		o := cli.Failed(err)
		o.Said = true
		return o
	}
	o := round.Outcome{Status: fanout.OK, Line: "exit 0", Said: true}
	switch {
	case r.OK():
		return o
	case r.TimedOut:
		o.Line = "ended at its timeout"
	case r.Exit < 0:
		o.Line = "ended by a signal: " + r.Signal
	default:
		o.Line = fmt.Sprintf("exit %d", r.Exit)
	}
	o.Status, o.Body, o.Err = fanout.Failed, o.Line+"\n", errors.New("the command failed: "+o.Line)
	return o
}

// outputText returns the output of a command for users.
func outputText(r *executor.CommandResult) string {
	var b strings.Builder
	for _, text := range []string{r.Stdout, r.Stderr} {
		for line := range strings.Lines(text) {
			b.WriteString(render.Escape(strings.TrimRight(line, "\r\n")) + "\n")
		}
	}
	return b.String()
}

// prefixed prints lines of several targets, each behind the name of its own.
type prefixed struct {
	mu       sync.Mutex
	out, err io.Writer
	width    int
	style    render.Style
}

// linesOf gives nil where lines are not shown while they come.
func linesOf(cr *cli.TargetSet, names []string) *prefixed {
	s := cr.Session
	if s.JSON || len(names) > fewTargets && !s.Verbose {
		return nil
	}
	p := &prefixed{out: s.App.Stdout, err: s.App.Stderr, style: s.Style()}
	for _, n := range names {
		p.width = max(p.width, len(n))
	}
	return p
}

// of shows the output of one target; the second prints what has no end of line.
func (p *prefixed) of(target string) (show func(executor.Output), flush func()) {
	if p == nil {
		return nil, func() {}
	}
	var held [2][]byte
	put := func(i int, line []byte) {
		w := []io.Writer{p.out, p.err}[i]
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintf(w, "%s | %s\n", p.style.Status(fanout.Skipped, fmt.Sprintf("%-*s", p.width, target)),
			render.Escape(strings.TrimRight(string(line), "\r")))
	}
	show = func(o executor.Output) {
		i := 0
		if o.Stderr {
			i = 1
		}
		held[i] = append(held[i], o.Text...)
		for {
			line, rest, ok := bytes.Cut(held[i], []byte("\n"))
			if !ok && len(held[i]) < maxLine {
				return
			}
			put(i, line)
			held[i] = append([]byte(nil), rest...)
		}
	}
	return show, func() {
		for i := range held {
			if len(held[i]) > 0 {
				put(i, held[i])
			}
		}
	}
}

// maxLine is the largest part of an unfinished line that is stored, in bytes.
const maxLine = 64 << 10
