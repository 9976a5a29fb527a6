package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/fleet/fanout"
)

// Board shows many targets while they are worked on: on a live screen a line for
// each that runs and one with the numbers, which fold when there are many; elsewhere
// a line for each that has ended. It is told events by one goroutine.
type Board struct {
	style Style
	w     io.Writer
	live  bool
	doing string
	total int

	mu      sync.Mutex
	running []string
	count   map[fanout.Status]int
	drawn   int // lines on the screen
}

// boardLines is how many running targets have a line of their own.
const boardLines = 10

// NewBoard shows total targets on w. live is for a terminal that can redraw.
func NewBoard(w io.Writer, s Style, live bool, doing string, total int) *Board {
	return &Board{style: s, w: w, live: live, doing: doing, total: total, count: map[fanout.Status]int{}}
}

// Show takes one event.
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
		fmt.Fprintf(b.w, "  %s %s; %d are still running\n", b.style.paint(yellow, "no further targets start:"), Escape(e.Why), e.Running)
	}
	b.draw()
}

// ended prints a line where lines stay, and on a live screen for what went wrong.
func (b *Board) ended(e fanout.Event) {
	bad := e.Outcome.Status == fanout.Failed || e.Outcome.Status == fanout.Unreachable
	if b.live && !bad || e.Outcome.Status == fanout.Skipped {
		return
	}
	b.clear()
	fmt.Fprintf(b.w, "  %s  %s  %s\n", b.style.Status(e.Outcome.Status, pad(e.Outcome.Status.String(), 11)), Escape(e.Target), b.style.paint(dim, Escape(e.Outcome.Why)))
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

// numbers is how far it has come.
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

// clear takes the lines that are redrawn off the screen.
func (b *Board) clear() {
	if b.drawn > 0 {
		fmt.Fprintf(b.w, "\r\x1b[%dA\x1b[J", b.drawn) // what was typed has moved the cursor
		b.drawn = 0
	}
}

// Close leaves the screen as if nothing had been redrawn.
func (b *Board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
}

// Status paints a text in the colour of what became of a target.
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

// Group is targets that came to the same.
type Group struct {
	Status  fanout.Status
	Word    string // what they came to
	Targets []string
	Body    string // shown once for all of them
}

// namedTargets is how many targets of a group are named.
const namedTargets = 8

// Groups prints what targets came to. whole names every target.
func (s Style) Groups(w io.Writer, groups []Group, whole bool) {
	for _, g := range groups {
		fmt.Fprintf(w, "%s %s\n", s.Status(g.Status, fmt.Sprintf("%s %s:", Count(len(g.Targets), "target"), g.Word)), targetNames(g.Targets, whole))
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
