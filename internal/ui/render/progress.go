package render

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/executor"
)

// Progress shows a run in progress. On a live screen it redraws one line below the finished changes;
// otherwise it prints one line for each event. Calls of Show must not overlap; Close can be called
// from any goroutine.
type Progress struct {
	style Style
	w     io.Writer
	live  bool
	now   func() time.Time
	done  chan struct{} // closed by Close

	mu    sync.Mutex
	drawn bool           // the redrawn line is on the screen
	wrote bool           // a permanent line was printed
	last  executor.Event // the event in the redrawn line
	began time.Time      // the start of the change of last
	index int            // of that change
}

// everyLine is the maximum number of changes for which a live screen shows a line for each finished
// change. Above it, only the counter and failures are shown.
const everyLine = 200

// shownElapsed is the time after which the updating line shows how long a change has taken.
const shownElapsed = 2 * time.Second

// NewProgress writes to w. live enables redrawing, which needs a terminal.
func NewProgress(w io.Writer, s Style, live bool, now func() time.Time) *Progress {
	return &Progress{style: s, w: w, live: live, now: now, done: make(chan struct{})}
}

// Follow redraws the line at each tick, until Close.
func (p *Progress) Follow(ticks <-chan time.Time) {
	go func() {
		for {
			select {
			case <-ticks:
				p.Tick()
			case <-p.done:
				return
			}
		}
	}()
}

// Tick redraws the updating line with the elapsed time. It may be called from any goroutine.
func (p *Progress) Tick() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		p.draw(p.last)
	}
}

// Show displays one event.
func (p *Progress) Show(e executor.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case "start":
		p.began, p.index = p.now(), e.Index
		p.draw(e)
	case "progress":
		p.draw(p.ofChange(e))
	case "done":
		if e.Action.Mutates() && !(p.live && e.Total > everyLine) {
			p.line("  " + p.what(e))
		}
	case "failed":
		p.line("  " + p.style.paint(red, "x") + " " + Escape(e.Addr.String()) + ": " + Escape(firstLine(e.Text)))
	case "undo":
		p.line("  " + p.style.paint(yellow, "<") + " " + Escape(e.Addr.String()) + "  " + p.style.paint(dim,
			join("undone", Escape(e.Text))))
	case "wait":
		p.wait(e)
	case "check":
		p.line("  " + p.style.paint(blue, "?") + " " + Escape(e.Addr.String()) + tail(e.Text))
	case "note":
		p.line("  " + p.style.paint(yellow, "note:") + " " + join(Escape(e.Addr.String()), Escape(e.Text)))
	}
}

// ofChange adds the running change to an event without an address.
func (p *Progress) ofChange(e executor.Event) executor.Event {
	if e.Addr == "" {
		e.Index, e.Addr = p.index, p.last.Addr
	}
	return e
}

// firstLine returns the first line of a text; the report has the full text.
func firstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return first
}

func tail(text string) string {
	if text == "" {
		return ""
	}
	return "  " + Escape(text)
}

func (p *Progress) what(e executor.Event) string {
	sg := signOf(e.Action)
	return p.style.paint(sg.color, sg.symbol) + " " + Escape(e.Addr.String()) + p.style.paint(dim, tail(e.Text))
}

// wait displays the reason of a wait: redrawn on a live screen, otherwise as a line of its own.
func (p *Progress) wait(e executor.Event) {
	if p.live {
		p.draw(p.ofChange(e))
		return
	}
	p.line("  waiting: " + join(Escape(e.Addr.String()), Escape(e.Text)))
}

// draw replaces the redrawn line.
func (p *Progress) draw(e executor.Event) {
	if !p.live {
		return
	}
	counter := ""
	if e.Total > 0 {
		counter = fmt.Sprintf("[%d/%d] ", e.Index+1, e.Total)
	}
	if d := p.now().Sub(p.began).Truncate(time.Second); d >= shownElapsed && !p.began.IsZero() {
		counter += duration.Text(d) + " "
	}
	p.last = e
	text := clip(counter+Escape(e.Addr.String())+tail(e.Text), max(p.style.Width-1, 20))
	fmt.Fprint(p.w, "\r\x1b[K"+p.style.paint(dim, text))
	p.drawn = true
}

// line prints a line above the redrawn line.
func (p *Progress) line(text string) {
	p.clear()
	fmt.Fprintln(p.w, text)
	p.wrote = true
}

// Wrote reports whether permanent lines were printed.
func (p *Progress) Wrote() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wrote
}

func (p *Progress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

// Close removes the redrawn line. It can be called twice.
func (p *Progress) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	select {
	case <-p.done:
	default:
		close(p.done)
	}
}
