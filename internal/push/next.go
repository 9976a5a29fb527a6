package push

import "fettle.dev/fettle/internal/fleet/rollout"

// Ended records the result of a task that Next returned.
func (m *Machine) Ended(task Task, r Result, now int64) {
	if t := m.targets[rollout.ID(task.Target)]; t != nil && t.task == task.Operation {
		t.ended(task.Operation, r, now)
		switch task.Operation {
		case Plan:
			m.zoned(t, task.Target, r.Zone)
		case Apply, Check:
			t.hurry(m.order.Strategy.MinReadyTime)
		case Return:
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

// answers records the decisions that the operator gave with the command. Gates that do not wait now ignore them.
func (m *Machine) answers(now int64) {
	if len(m.order.Answers) == 0 || !m.known() {
		return
	}
	if r := m.Rollout(); r != nil {
		for _, a := range m.order.Answers {
			m.answer(a, now)
		}
		m.decide(now)
	}
	m.order.Answers = nil
}

// Finished reports whether nothing happens any more: all tasks have ended, and the rollout has ended, is paused, is
// stopped, waits for the operator, or is not necessary.
func (m *Machine) Finished() bool {
	r := m.Rollout()
	switch {
	case m.running() > 0:
		return false
	case m.stopped:
		return true
	case r == nil:
		return m.tried() && (!m.wanted() || m.AllClosed() != "" || m.AllWait() != "")
	}
	return r.Phase.Final() || r.Phase == rollout.OnHold && !m.order.Resume || len(m.Awaits()) > 0
}
