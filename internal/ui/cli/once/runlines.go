package once

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/render"
)

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
