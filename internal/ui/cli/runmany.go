package cli

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
	"fettle.dev/fettle/internal/ui/render"
)

// fewTargets is up to how many targets lines are shown while they come.
const fewTargets = 4

// runMany runs a command on every target that is selected.
func runMany(ctx context.Context, s *session, f runningFlags, cmd executor.Command, json bool) error {
	cr, err := s.targetSet(ctx, f.many)
	if err != nil {
		return err
	}
	defer cr.close()
	if f.dryRun {
		return wouldRun(s.printer, cmd, cr.names)
	}
	return cr.finish("Ran it on", cr.command(ctx, cr.names, json, always(cmd)), ranWords())
}

// commandOf returns the command of a target, or its result if there is no command.
type commandOf func(context.Context, *member) (executor.Command, *outcome, error)

func always(cmd executor.Command) commandOf {
	return func(context.Context, *member) (executor.Command, *outcome, error) { return cmd, nil, nil }
}

func ranWords() map[fanout.Status]string { return map[fanout.Status]string{fanout.OK: "succeeded"} }

// command runs on targets what each is given for it. json tells that it prints JSON,
// which is shown when all have ended.
func (cr *targetSet) command(ctx context.Context, names []string, json bool, of commandOf) map[string]outcome {
	cr.changes, cr.acts = true, true
	lines := cr.lines(names)
	if json {
		lines = nil
	}
	cr.quiet = lines != nil
	all := cr.round(ctx, names, "Running", true, func(ctx context.Context, m *member, x executor.Executor) outcome {
		cmd, instead, err := of(ctx, m)
		if err != nil {
			return failed(err)
		}
		if instead != nil {
			return *instead
		}
		cx, ok := x.(executor.Commander)
		if !ok {
			return failed(errors.New("cannot run commands there: it only accepts step lists"))
		}
		show, flush := lines.of(m.target)
		res, err := cx.Command(ctx, cmd, m.runOptions(), show)
		flush()
		o := outcomeOfCommand(res, err)
		if err == nil {
			o.doc = commandJSON(cmd, res)
			if len(cr.names) == 1 && res.Exit > 0 {
				o.err = errExit(res.Exit)
			}
		}
		switch {
		case json && err == nil && res.OK() && !cr.s.json:
			return tabled(o, res)
		case lines == nil && res != nil:
			o.body = outputText(res) + o.body
		}
		return o
	})
	showRows(cr.s.printer, all)
	return all
}

// outcomeOfCommand returns the result of a command, without its output.
func outcomeOfCommand(r *executor.CommandResult, err error) outcome {
	if err != nil || r == nil {
		o := failed(err)
		o.said = true
		return o
	}
	o := outcome{status: fanout.OK, line: "exit 0", said: true}
	switch {
	case r.OK():
		return o
	case r.TimedOut:
		o.line = "ended at its timeout"
	case r.Exit < 0:
		o.line = "ended by a signal: " + r.Signal
	default:
		o.line = fmt.Sprintf("exit %d", r.Exit)
	}
	o.status, o.body, o.err = fanout.Failed, o.line+"\n", errors.New("the command failed: "+o.line)
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

// lines gives nil where lines are not shown while they come.
func (cr *targetSet) lines(names []string) *prefixed {
	s := cr.s
	if s.json || len(names) > fewTargets && !s.verbose {
		return nil
	}
	p := &prefixed{out: s.app.Stdout, err: s.app.Stderr, style: s.style()}
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
