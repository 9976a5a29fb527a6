package push

import "fettle.dev/fettle/internal/fleet/rollout"

// Ended records the result of a task that Next returned.
func (m *Machine) Ended(task Task, r Result, now int64) {
	if t := m.targets[rollout.ID(task.Target)]; t != nil && t.task == task.Operation {
		t.ended(task.Operation, r, now)
		if task.Operation == Plan {
			m.zoned(t, task.Target, r.Zone)
		}
	}
}

// Next returns the tasks that begin now, in the order of the targets. The caller must store the records before it
// performs the tasks.
func (m *Machine) Next(now int64) (tasks []Task, records []Record) {
	m.now = now
	if m.up == 0 {
		m.up = now
	}
	if !m.stopped {
		m.resume(now)
		m.decide(now)
		m.answers(now)
		if len(m.Awaits()) == 0 {
			tasks = m.tasks(now)
		}
		tasks = tasks[:min(len(tasks), max(0, m.order.Parallel-m.running()))]
		for _, task := range tasks {
			m.begin(task, now)
		}
	}
	records, m.records = m.records, nil
	return tasks, records
}

// resume continues a rollout that paused, once.
func (m *Machine) resume(now int64) {
	r := m.Rollout()
	if !m.order.Resume || r == nil {
		return
	}
	m.order.Resume = false
	if r.Phase == rollout.OnHold {
		events, _ := m.state.Order(rollout.Command{Action: rollout.ToResume, Rollout: r.ID}, now) // it is on hold
		m.add(events)
	}
}

func (m *Machine) add(events []rollout.Event) {
	for _, e := range events {
		m.records = append(m.records, Record{Event: &e})
	}
}

// decide waits until the state of each target is known or the target has no contact.
func (m *Machine) decide(now int64) {
	if m.known() {
		m.add(m.state.Decide(m.world(now), now))
	}
}

func (m *Machine) begin(task Task, now int64) {
	t := m.targets[rollout.ID(task.Target)]
	if task.Operation == Apply && t.base == nil {
		t.base = &t.run
		m.records = append(m.records, Record{Base: &Base{Target: task.Target, Run: t.run}})
	}
	t.start(task.Operation, now)
}
