package web

import (
	"context"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/executor"
)

// Host is the machine of pages without a hub.
type Host struct {
	Name string
	// Flags are the flags with which commands work on the machine, such as --root and a directory.
	Flags []string
	// Repository are further flags of commands that read the repository, such as --rev.
	Repository []string
	// Request compiles the repository for this host, with the options of its runs. If there is no error, the caller
	// calls closing at the end. It is safe for concurrent use.
	Request func(context.Context) (r executor.Request, o executor.Options, closing func(), err error)
}

// hostRuns are the runs that the pages of a host started. The zero value has none. It is safe for concurrent use.
type hostRuns struct {
	mu     sync.Mutex
	newest *hostRun
	change chan struct{} // closed at the next change; nil means that no page waits
}

// hostRun is a run. Its owner protects all fields.
type hostRun struct {
	owner   *hostRuns
	data    runState
	begun   chan struct{} // closed when the run changes the host
	ended   chan struct{}
	failure error
	cancel  context.CancelFunc
}

// runState is the state of a run for display.
type runState struct {
	Title   string
	Began   int64
	Ended   bool
	Text    string // the newest message
	Failure string
	Report  *executor.Report
	Done    int // number of changes
	changeList
}

// add makes a run the newest one, unless the newest one has not ended.
func (h *hostRuns) add(r *hostRun) (earlier *hostRun, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if earlier = h.newest; earlier != nil && !earlier.data.Ended {
		return nil, false
	}
	h.newest = r
	return earlier, true
}

// remove removes a run that was refused.
func (h *hostRuns) remove(r, earlier *hostRun) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.newest == r {
		h.newest = earlier
	}
}

// changed returns a channel that is closed at the next change.
func (h *hostRuns) changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.change == nil {
		h.change = make(chan struct{})
	}
	return h.change
}

// stop stops the run after its present step, and waits for its end.
func (h *hostRuns) stop() {
	h.mu.Lock()
	r := h.newest
	h.mu.Unlock()
	if r != nil {
		r.cancel()
		<-r.ended
	}
}

// edit changes the data of a run.
func (r *hostRun) edit(f func(*runState)) {
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	f(&r.data)
	if r.owner.change != nil {
		close(r.owner.change)
		r.owner.change = nil
	}
}

// begin shows the plan of the run.
func (r *hostRun) begin(l changeList) {
	r.edit(func(d *runState) { d.changeList = l })
	close(r.begun)
}

func (r *hostRun) end(rep *executor.Report, err error) {
	r.edit(func(d *runState) {
		r.failure = err
		if d.Report, d.Ended, d.Text = rep, true, ""; err != nil {
			d.Failure = bounded(err.Error())
		}
	})
	close(r.ended)
}

// show adds an event of the run.
func (r *hostRun) show(e executor.Event) {
	outcome := map[string]string{"start": "applying", "done": "done", "failed": "failed", "skipped": "skipped",
		"undo": "undone"}[e.Kind]
	r.edit(func(d *runState) {
		if outcome == "" {
			d.Text = bounded(e.Text)
			return
		}
		i := slices.IndexFunc(d.Changes, func(c change) bool { return c.Addr == e.Addr })
		if i < 0 {
			return
		}
		c := &d.Changes[i]
		if outcome == "done" && c.Outcome != "done" {
			d.Done++
		}
		if c.Outcome = outcome; outcome == "failed" {
			c.Failure = bounded(e.Text)
		}
	})
}
