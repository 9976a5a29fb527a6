package machine

import (
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

func (m *core) do(a Action) { m.actions = append(m.actions, a) }

// report adds an event to the outbox, with the status of the target after the step.
func (m *core) report(e fleet.Event) {
	e.Text, e.Error = clip(e.Text), clip(e.Error)
	m.do(Append{fleet.Report{Event: e}})
}

// refuse reports a refusal. It does not report the same refusal twice in a row.
func (m *core) refuse(why string) {
	if why == m.refused {
		return
	}
	m.refused = why
	m.report(fleet.Event{Kind: fleet.Refused, Error: why})
}

// setTrouble records an error that concerns no single module.
func (m *core) setTrouble(text string) {
	if text != m.Error {
		m.Error, m.changed = text, true
	}
}

// put records the state of a module. Since is the time of the last transition.
func (m *core) put(name string, s Module) {
	was := m.Modules[name]
	s.Since = was.Since
	if was.State != s.State {
		s.Since = m.now.Wall
	}
	if was != s {
		m.Modules[name], m.changed = s, true
	}
}

// clip limits a text to longestText bytes.
func clip(s string) string { return cut(s, longestText) }

// applied returns the applied bundle of a module. near is the index of the module in the accepted
// assignment, or 0.
func (m *core) applied(near int, module string) (fleet.Assigned, bool) {
	return find(m.Applied, near, module)
}

func (m *core) assigned(near int, module string) (fleet.Assigned, bool) {
	return find(m.Accepted, near, module)
}

// cut limits a text to most bytes and does not split a character.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// longestText is the maximum length of each text of a report, in bytes.
const longestText = 4096

// find returns a module of an assignment; a nil assignment has none. It runs for each module in
// each step, so it first checks the index near, and then searches without copying.
func find(a *fleet.Assignment, near int, module string) (fleet.Assigned, bool) {
	if a == nil {
		return fleet.Assigned{}, false
	}
	if near < len(a.Modules) && a.Modules[near].Module == module {
		return a.Modules[near], true
	}
	for i := range a.Modules {
		if a.Modules[i].Module == module {
			return a.Modules[i], true
		}
	}
	return fleet.Assigned{}, false
}

func (m *core) isDue(timer int) bool { return m.due[timer] <= m.now.Mono }

// set starts a timer with the duration d, randomly changed by at most a fifth.
func (m *core) set(timer int, d time.Duration) {
	m.due[timer] = m.now.Mono + d - d/5 + time.Duration(m.random()%uint64(2*d/5+1))
}

// backOff starts a timer with a duration that doubles with each attempt n, up to most. The upper
// half of the duration is random.
func (m *core) backOff(timer, n int, first, most time.Duration) {
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	d = min(d, most)
	m.due[timer] = m.now.Mono + d/2 + time.Duration(m.random()%uint64(d/2+1))
}

// again counts a failure and calls backOff.
func (m *core) again(timer int, first, most time.Duration) {
	m.failures[timer]++
	m.backOff(timer, m.failures[timer], first, most)
}

// random is splitmix64. The seed depends only on the target and the boot, so tests are
// reproducible.
func (m *core) random() uint64 {
	m.dice += 0x9e3779b97f4a7c15
	z := m.dice
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (m *core) have() fleet.Have {
	o := orderOf(m.Accepted)
	return fleet.Have{Epoch: o.epoch, Generation: o.generation, Seq: m.seq}
}

// reportRun reports the end of a run.
func (m *core) reportRun(o Outcome, e fleet.Event) {
	e.Run, e.Duration = o.Run, int64(max(0, o.Duration))
	m.report(e)
}
