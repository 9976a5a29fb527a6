package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/plan"
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
	Phases  []phase // in their order; the last one runs, or ran
}

// phase is a part of a run with a plan of its own.
type phase struct {
	Text string // the reason for its plan; "" means that the user saw the plan
	changeList
	rest map[string]int // the number of changes with a result that the page does not show
}

// Count returns the number of changes with a result.
func (p phase) Count(outcome string) int {
	n := p.rest[outcome]
	for _, c := range p.Changes {
		if c.Outcome == outcome && !isRecord(c.Action) {
			n++
		}
	}
	return n
}

// Total returns the number of the changes that have a result at the end, also beyond the limit of a page.
func (p phase) Total() int {
	n := len(p.Changes) + p.More
	for _, c := range p.Changes {
		if isRecord(c.Action) {
			n--
		}
	}
	return n
}

// isRecord reports whether an action only records something, so that a run has no result for it.
func isRecord(a plan.Action) bool {
	return a == plan.Adopt || a == plan.Forget || a == plan.Blocked || a == plan.Drift
}

// copied returns a copy that later events do not change.
func (s runState) copied() runState {
	s.Phases = slices.Clone(s.Phases)
	for i := range s.Phases {
		p := &s.Phases[i]
		p.Changes, p.rest = slices.Clone(p.Changes), maps.Clone(p.rest)
	}
	return s
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
	r.edit(func(d *runState) { d.Phases = []phase{{changeList: l, rest: map[string]int{}}} })
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
	r.edit(func(d *runState) {
		outcome := map[string]string{"start": "applying", "done": "done", "failed": "failed", "skipped": "skipped",
			"undo": "undone"}[e.Kind]
		switch {
		case e.Kind == "plan" && e.Plan != nil:
			d.begin(e)
		case outcome == "":
			d.Text = bounded(e.Text)
		default:
			d.set(e, outcome)
		}
	})
}

// begin begins a phase.
func (s *runState) begin(e executor.Event) {
	p := phase{Text: bounded(cmp.Or(e.Text, "the next phase")), rest: map[string]int{}}
	p.changeList = listChanges(e.Plan, s.Phases[0].Command)
	s.Text, s.Phases = "", append(s.Phases, p)
}

// set sets the result of the change of an event, in the phase that runs.
func (s *runState) set(e executor.Event, outcome string) {
	p := &s.Phases[len(s.Phases)-1]
	i := e.Index
	if i < 0 || i >= len(p.Changes) || p.Changes[i].Addr != e.Addr {
		i = slices.IndexFunc(p.Changes, func(c change) bool { return c.Addr == e.Addr })
	}
	if s.Text = ""; i < 0 {
		if outcome != "applying" && p.More > 0 {
			p.rest[outcome]++
		}
		return
	}
	c := &p.Changes[i]
	if c.Outcome = outcome; outcome == "failed" {
		c.Failure = bounded(e.Text)
	}
}
