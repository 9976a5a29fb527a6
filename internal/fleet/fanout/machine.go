package fanout

import (
	"fmt"
	"time"
)

// Machine decides the next steps. It has no clock and starts nothing: the driver calls it for each
// event, with the time, and executes the returned events Started and Cancelled. The same calls
// return the same events. It is not safe for concurrent use.
type Machine struct {
	parallel int
	batch    int
	most     int // permitted failures, -1 for any number

	results    []Result
	place      map[string]int
	state      []state
	next       int // the first target that has not started
	end        int // of the current batch
	running    int
	failed     int
	interrupts int
	begun      bool
	stopped    bool
	finished   bool
}

// state is the progress of a target.
type state uint8

const (
	waiting state = iota
	running
	ended
)

// NewMachine returns a machine for targets, in the order in which they start. A duplicate name
// counts once.
func NewMachine(targets []string, o Options) *Machine {
	m := &Machine{parallel: o.Parallel, most: -1, place: map[string]int{}}
	for _, t := range targets {
		if _, twice := m.place[t]; !twice {
			m.place[t] = len(m.results)
			m.results = append(m.results, Result{Target: t})
		}
	}
	m.state = make([]state, len(m.results))
	if m.parallel <= 0 {
		m.parallel = DefaultParallel
	}
	m.batch = o.Batch.Batch(len(m.results))
	m.end = m.batch
	if o.MaxFailed != nil {
		m.most = o.MaxFailed.Of(len(m.results))
	}
	return m
}

// Begin starts the first targets. A second call has no effect.
func (m *Machine) Begin(now time.Time) []Event {
	if m.begun {
		return nil
	}
	m.begun = true
	return m.advance(nil, now)
}

// Ended records the outcome of a running target. For other targets it has no effect.
func (m *Machine) Ended(target string, o Outcome, now time.Time) []Event {
	i, known := m.place[target]
	if !known || m.state[i] != running {
		return nil
	}
	if o.Status == Unset || o.Status > Skipped {
		o.Status = Failed
	}
	m.running--
	if o.Status.bad() {
		m.failed++
	}
	out := m.record(nil, i, o, now)
	if m.most >= 0 && m.failed > m.most && m.next < len(m.results) {
		out = m.stop(out, fmt.Sprintf("%d failed", m.failed), now)
	}
	return m.advance(out, now)
}

// Interrupt skips the targets that have not started. The second call cancels the running targets.
// Further calls, and calls after the end, have no effect.
func (m *Machine) Interrupt(now time.Time) []Event {
	if m.finished {
		return nil
	}
	m.begun = true
	m.interrupts++
	switch m.interrupts {
	case 1:
		return m.advance(m.stop(nil, "it was interrupted", now), now)
	case 2:
		return []Event{m.event(Event{At: now, What: Cancelled})}
	}
	return nil
}

// Finished returns true if every target has its outcome.
func (m *Machine) Finished() bool { return m.finished }

// Summary returns the current results. The caller owns the copy.
func (m *Machine) Summary() Summary { return append(Summary{}, m.results...) }

// advance starts further targets, and detects the end.
func (m *Machine) advance(out []Event, now time.Time) []Event {
	for m.running < m.parallel && m.next < len(m.results) {
		if m.next == m.end {
			if m.running > 0 {
				break
			}
			m.end = min(m.end+m.batch, len(m.results))
		}
		i := m.next
		m.next++
		m.running++
		m.state[i] = running
		m.results[i].Began = now
		out = append(out, m.event(Event{At: now, What: Started, Target: m.results[i].Target}))
	}
	if m.running == 0 && m.next == len(m.results) && !m.finished {
		m.finished = true
		out = append(out, m.event(Event{At: now, What: Finished}))
	}
	return out
}

// stop skips all targets that have not started.
func (m *Machine) stop(out []Event, why string, now time.Time) []Event {
	if m.stopped {
		return out
	}
	m.stopped = true
	left := m.next
	m.next = len(m.results)
	out = append(out, m.event(Event{At: now, What: Stopped, Why: why}))
	for i := left; i < len(m.results); i++ {
		m.results[i].Began = now
		out = m.record(out, i, Outcome{Status: Skipped, Why: "not begun, since " + why}, now)
	}
	return out
}

func (m *Machine) record(out []Event, i int, o Outcome, now time.Time) []Event {
	m.state[i] = ended
	m.results[i].Outcome, m.results[i].Ended = o, now
	return append(out, m.event(Event{At: now, What: Ended, Target: m.results[i].Target, Outcome: o}))
}

// event adds the numbers of running and waiting targets to an event.
func (m *Machine) event(e Event) Event {
	e.Running, e.Waiting = m.running, len(m.results)-m.next
	return e
}
