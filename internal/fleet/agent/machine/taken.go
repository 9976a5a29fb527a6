package machine

import (
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Taken is a request that runs something, from when it was taken until a hub has how it
// ended. Each is begun once: that it has begun is durable before.
type Taken struct {
	Do    fleet.Do `json:"do"`
	Begun bool     `json:"begun,omitempty"`
	// Tries is how often somebody else worked on the machine.
	Tries int `json:"tries,omitempty"`
	// Done is how it ended; nil: it has not.
	Done *fleet.Done `json:"done,omitempty"`
}

// Bounds of what was taken: so many at once, and so often somebody else's lock is waited
// for, which is most of an hour.
const (
	maxTaken  = 32
	lockTries = 120
)

// Act runs what a request asks for. One is under way at a time, and none beside a Run but
// for what only looks.
type Act struct {
	Do fleet.Do
	// Has is what stands on the machine, with the modules that have no part in it; nil:
	// nothing. Actions are found there.
	Has    *fleet.Assignment
	Absent []string
}

// Inform gives a hub how a request ended. One is under way at a time.
type Inform struct{ Done fleet.Done }

// Acted ends an Act. Locked says that it never began, since somebody else works on the
// machine.
type Acted struct {
	Done   fleet.Done
	Locked bool
}

// Informed ends an Inform. Error is "" when it is durable at a hub.
type Informed struct{ ID, Error string }

func (Act) action()     {}
func (Inform) action()  {}
func (Acted) event()    {}
func (Informed) event() {}

// End has no request begun any more: the process is about to end.
func (m *Machine) End() { m.ending = true }

func (m *Machine) taken(id string) *Taken {
	i := slices.IndexFunc(m.Taken, func(t Taken) bool { return t.Do.ID == id })
	if i < 0 {
		return nil
	}
	return &m.Taken[i]
}

// keep takes a request that runs something, or says why not.
func (m *Machine) keep(d fleet.Do) error {
	if d.Run == nil {
		return fmt.Errorf("cannot run nothing")
	}
	if err := d.Run.Check(); err != nil {
		return err
	}
	if len(d.Signed) > fleet.MaxSignedJob {
		return fmt.Errorf("cannot accept a signature of %d bytes: %d are the most", len(d.Signed), fleet.MaxSignedJob)
	}
	if len(m.Taken) >= maxTaken {
		return fmt.Errorf("cannot take it: %d requests are under way here already. Ask again when they have ended", len(m.Taken))
	}
	m.Taken = append(m.Taken, Taken{Do: d})
	return nil
}

// asBefore is the answer to a request that was taken before.
func (m *Machine) asBefore(d fleet.Do) fleet.Done {
	switch {
	case m.taken(d.ID) != nil:
		return fleet.Done{ID: d.ID, Taken: true}
	case d.What == fleet.DoRun:
		return fleet.Done{ID: d.ID, Error: "it was run before, and a hub has heard how it ended: the history of the target has it"}
	}
	return fleet.Done{ID: d.ID}
}

// withdraw ends a request that has not begun.
func (m *Machine) withdraw(id string) {
	if t := m.taken(id); t != nil && !t.Begun && t.Done == nil {
		t.Done, m.changed = &fleet.Done{ID: id, Withdrawn: true}, true
	}
}

// act begins the oldest request that may be begun.
func (m *Machine) act() {
	if m.acting != nil || m.ending || m.replacing.leaving || !m.isDue(actTimer) {
		return
	}
	for i := range m.Taken {
		t := &m.Taken[i]
		if t.Done != nil || m.running != nil && !t.Do.Run.Looks {
			continue
		}
		t.Begun, m.changed = true, true
		do := t.Do
		m.acting = &do
		m.do(Act{Do: t.Do, Has: m.Good, Absent: m.Absent})
		return
	}
}

// waitsToAct tells whether a request waits for nothing but its time.
func (m *Machine) waitsToAct() bool {
	return m.acting == nil && !m.replacing.leaving && slices.ContainsFunc(m.Taken, func(t Taken) bool {
		return t.Done == nil && (m.running == nil || t.Do.Run.Looks)
	})
}

// isActing tells whether what a request runs keeps runs from beginning.
func (m *Machine) isActing() bool { return m.acting != nil && !m.acting.Run.Looks }

func (m *Machine) acted(e Acted) {
	m.acting = nil
	t := m.taken(e.Done.ID)
	if t == nil {
		return
	}
	m.changed = true
	if !e.Locked {
		t.Done = &e.Done
		return
	}
	t.Begun = false
	if t.Tries++; t.Tries >= lockTries {
		t.Done = &e.Done
		return
	}
	m.due[actTimer] = m.now.Mono + lockAgain
}

// interrupt ends what had begun when the process before this one ended.
func (m *Machine) interrupt() {
	for i := range m.Taken {
		if t := &m.Taken[i]; t.Begun && t.Done == nil {
			t.Done, m.changed = &fleet.Done{ID: t.Do.ID, Interrupted: true, Error: "the agent ended while it ran, if it had begun at all; it is not begun again"}, true
		}
	}
}

// inform gives a hub the oldest request that has ended.
func (m *Machine) inform() {
	if !m.mustInform() || !m.isDue(informTimer) {
		return
	}
	for _, t := range m.Taken {
		if t.Done != nil {
			m.informing = true
			m.do(Inform{*t.Done})
			return
		}
	}
}

func (m *Machine) mustInform() bool {
	return m.up && !m.informing && slices.ContainsFunc(m.Taken, func(t Taken) bool { return t.Done != nil })
}

func (m *Machine) informed(e Informed) {
	m.informing = false
	if e.Error != "" {
		m.again(informTimer, firstInform, longest)
		return
	}
	m.failures[informTimer], m.due[informTimer] = 0, m.now.Mono
	m.Taken = slices.DeleteFunc(m.Taken, func(t Taken) bool { return t.Do.ID == e.ID && t.Done != nil })
	m.changed = true
}

const firstInform = 2 * time.Second
