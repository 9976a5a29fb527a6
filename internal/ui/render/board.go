package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet/fanout"
)

// Board shows the progress of many targets. On a live screen it redraws one line for each running
// target, up to a limit, and one line with totals. Otherwise it prints a line for each finished
// target. Only one goroutine may use it.
type Board struct {
	style Style
	w     io.Writer
	live  bool
	doing string
	total int

	mu      sync.Mutex
	running []string
	count   map[fanout.Status]int
	drawn   int // number of redrawn lines on the screen
}

// boardLines is the maximum number of running targets with a line of their own.
const boardLines = 10

// NewBoard returns a board for total targets on w. live enables redrawing, which needs a terminal.
func NewBoard(w io.Writer, s Style, live bool, doing string, total int) *Board {
	return &Board{style: s, w: w, live: live, doing: doing, total: total, count: map[fanout.Status]int{}}
}

// Show displays one event.
func (b *Board) Show(e fanout.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e.What {
	case fanout.Started:
		b.running = append(b.running, e.Target)
	case fanout.Ended:
		b.running = slices.DeleteFunc(b.running, func(n string) bool { return n == e.Target })
		b.count[e.Outcome.Status]++
		b.ended(e)
	case fanout.Stopped:
		b.clear()
		fmt.Fprintf(b.w, "  %s %s; %d are still running\n", b.style.paint(yellow, "no further targets start:"),
			Escape(e.Why), e.Running)
	}
	b.draw()
}

// ended prints a line for a finished target. On a live screen it does so only for failures.
func (b *Board) ended(e fanout.Event) {
	bad := e.Outcome.Status == fanout.Failed || e.Outcome.Status == fanout.Unreachable
	if b.live && !bad || e.Outcome.Status == fanout.Skipped {
		return
	}
	b.clear()
	fmt.Fprintf(b.w, "  %s  %s  %s\n", b.style.Status(e.Outcome.Status, pad(e.Outcome.Status.String(), 11)),
		Escape(e.Target), b.style.paint(dim, Escape(e.Outcome.Why)))
}

func (b *Board) draw() {
	if !b.live {
		return
	}
	b.clear()
	lines := []string{b.numbers()}
	for i, name := range b.running {
		if i == boardLines {
			lines = append(lines, b.style.paint(dim, fmt.Sprintf("  … and %d more", len(b.running)-boardLines)))
			break
		}
		lines = append(lines, "  "+b.style.paint(blue, "▸")+" "+Escape(name))
	}
	for _, l := range lines {
		fmt.Fprintln(b.w, l)
	}
	b.drawn = len(lines)
}

// numbers returns the line with totals.
func (b *Board) numbers() string {
	done := 0
	var parts []string
	for _, st := range []fanout.Status{fanout.OK, fanout.Changed, fanout.Skipped, fanout.Unreachable, fanout.Failed} {
		if n := b.count[st]; n > 0 {
			done += n
			parts = append(parts, b.style.Status(st, fmt.Sprintf("%d %s", n, st)))
		}
	}
	parts = append(parts, fmt.Sprintf("%d running", len(b.running)))
	if waiting := b.total - done - len(b.running); waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", waiting))
	}
	return fmt.Sprintf("%s %d/%d  %s", b.style.paint(bold, b.doing), done, b.total, strings.Join(parts, " · "))
}

// clear removes the redrawn lines from the screen.
func (b *Board) clear() {
	if b.drawn > 0 {
		fmt.Fprintf(b.w, "\r\x1b[%dA\x1b[J", b.drawn) // input of the user has moved the cursor
		b.drawn = 0
	}
}

// Close removes the redrawn lines.
func (b *Board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
}

// Status colours a text according to the status of a target.
func (s Style) Status(st fanout.Status, text string) string {
	switch st {
	case fanout.OK:
		return s.paint(green, text)
	case fanout.Changed:
		return s.paint(yellow, text)
	case fanout.Failed, fanout.Unreachable:
		return s.paint(red, text)
	}
	return s.paint(dim, text)
}

// Group contains targets with the same result.
type Group struct {
	Status  fanout.Status
	Word    string // the result in a word
	Targets []string
	Body    string // printed once for the group
}

// namedTargets is the maximum number of targets of a group that are named.
const namedTargets = 8

// Groups prints the results of targets. With whole, it names every target.
func (s Style) Groups(w io.Writer, groups []Group, whole bool) {
	for _, g := range groups {
		fmt.Fprintf(w, "%s %s\n", s.Status(g.Status, fmt.Sprintf("%s %s:", Count(len(g.Targets), "target"), g.Word)),
			targetNames(g.Targets, whole))
		for line := range strings.Lines(g.Body) {
			fmt.Fprintln(w, strings.TrimRight("  "+strings.TrimSuffix(line, "\n"), " "))
		}
		if g.Body != "" {
			fmt.Fprintln(w)
		}
	}
}

func targetNames(names []string, whole bool) string {
	out := make([]string, 0, len(names))
	for i, n := range names {
		if i == namedTargets && len(names) > namedTargets+1 && !whole {
			return fmt.Sprintf("%s and %d more", strings.Join(out, ", "), len(names)-i)
		}
		out = append(out, Escape(n))
	}
	return strings.Join(out, ", ")
}
