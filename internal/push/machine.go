package push

import (
	"math"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/window"
)

// lane is the only lane of rollouts without a hub.
const lane = "push"

// question identifies a gate in one bake time.
type question struct {
	gate         string
	wave, period int
}

func questionOf(d rollout.Due) question { return question{d.Gate.Name, d.Wave, d.Period} }

// never is the time of the next question about a gate while a question is in progress.
const never = int64(1) << 62

// Machine decides the tasks of one rollout. It has no clock and performs nothing: the same calls return the same tasks.
// It is not safe for concurrent use.
type Machine struct {
	order   Order
	state   *rollout.State
	targets map[rollout.ID]*target
	asked   map[question]int64 // the time of the next question about a gate
	records []Record           // that Next has not returned yet
	stopped bool
	// prompted means that the operator has not answered a question yet.
	prompted bool
	up       int64 // time of the first Next
	now      int64 // of the newest Next
}

// New returns the machine of an order. To continue a rollout, fold its log first, without Begin.
func New(o Order) *Machine {
	m := &Machine{order: o, state: rollout.NewState(), targets: map[rollout.ID]*target{},
		asked: map[question]int64{}}
	for _, name := range o.Targets {
		m.targets[rollout.ID(name)] = &target{}
	}
	return m
}

// Continues reports whether a log belongs to a rollout of an order that has not ended.
func Continues(o Order, log []Record) bool {
	if len(log) == 0 || log[0].Begin == nil {
		return false
	}
	was, want := *log[0].Begin, o.begin()
	if was.Strategy != want.Strategy || was.Content != want.Content || !slices.Equal(was.Targets, want.Targets) {
		return false
	}
	m := New(o)
	m.Fold(log)
	r := m.Rollout()
	return r == nil || !r.Phase.Final()
}

// Fold continues with a log.
func (m *Machine) Fold(log []Record) {
	for _, r := range log {
		switch {
		case r.Event != nil:
			m.state.Fold(*r.Event)
		case r.Base != nil && m.targets[rollout.ID(r.Base.Target)] != nil:
			m.targets[rollout.ID(r.Base.Target)].base = &r.Base.Run
		}
	}
}

// Rollout returns the rollout, or nil if there is none yet. The caller must not change it.
func (m *Machine) Rollout() *rollout.Rollout {
	if all := m.state.All(); len(all) > 0 {
		return all[0]
	}
	return nil
}

// Stop starts no further task.
func (m *Machine) Stop() { m.stopped = true }

func (m *Machine) add(events []rollout.Event) {
	for _, e := range events {
		m.records = append(m.records, Record{Event: &e})
	}
}

// running returns the number of tasks in progress.
func (m *Machine) running() (n int) {
	for _, t := range m.targets {
		n += one(t.task != "")
	}
	return n
}

// tried reports whether each target was planned once, or had no contact.
func (m *Machine) tried() bool {
	for _, t := range m.targets {
		if !t.planned && t.next == 0 {
			return false
		}
	}
	return true
}

// wanted reports whether a target lacks the content.
func (m *Machine) wanted() bool {
	for _, t := range m.targets {
		if t.changes {
			return true
		}
	}
	return false
}

// zoned finds the windows of a target whose time zone is known after its plan. The first content of a target waits for
// no window.
func (m *Machine) zoned(t *target, name, zone string) {
	all := m.order.Windows[name]
	if len(all) == 0 || !t.planned || t.isNew() {
		return
	}
	set, err := window.Compile(all, zone)
	t.windows = &windows{set: set, err: err}
}

// openFor is World.OpenFor.
func (m *Machine) openFor(id rollout.ID, from, to, enough int64) int64 {
	w := m.targets[id].windows
	if w == nil || w.err != nil {
		return to - from
	}
	return int64(w.set.OpenFor(time.Unix(from, 0), time.Unix(to, 0), time.Duration(enough)*time.Second) / time.Second)
}

// AllClosed returns a reason if no rollout has begun because the windows of all targets that need the content are
// closed: the reason of the target whose windows open first. Otherwise it returns "". It must be called after Next.
func (m *Machine) AllClosed() (why string) {
	if m.Rollout() != nil || !m.tried() {
		return ""
	}
	first := int64(math.MaxInt64)
	for _, name := range m.order.Targets {
		t := m.targets[rollout.ID(name)]
		if !t.changes {
			continue
		}
		closed := t.windows.closed(m.now)
		if closed == "" {
			return ""
		}
		if opens := t.windows.opens(); why == "" || opens < first {
			first, why = opens, name+": "+closed
		}
	}
	return why
}
