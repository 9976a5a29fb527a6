package bus

import (
	"maps"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// maxOfTarget is the maximum number of connections of one target. A host opens a second connection
// before the server has detected that the first is dead.
const maxOfTarget = 2

// members are the connections of targets to one server.
type members struct {
	mu     sync.Mutex
	of     map[fleet.TargetID][]*member // oldest first
	owner  map[uint64]fleet.TargetID
	each   []func(fleet.TargetID, bool)
	events []event
	busy   bool
}

type member struct {
	connection uint64
	here       bool // it has reported that it receives messages
}

type event struct {
	id   fleet.TargetID
	here bool
}

func newMembers() *members {
	return &members{of: map[fleet.TargetID][]*member{}, owner: map[uint64]fleet.TargetID{}}
}

// admit adds a new connection, and returns the connections that must end because of it.
func (m *members) admit(id fleet.TargetID, connection uint64) (tooMany []uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owner[connection] = id
	m.of[id] = append(m.of[id], &member{connection: connection})
	for _, old := range m.of[id][:max(0, len(m.of[id])-maxOfTarget)] {
		tooMany = append(tooMany, old.connection)
	}
	return tooMany
}

// arrived records that a connection receives messages. A connection of another target is ignored.
func (m *members) arrived(id fleet.TargetID, connection uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.here(id)
	for _, c := range m.of[id] {
		c.here = c.here || c.connection == connection
	}
	if !before && m.here(id) {
		m.tell(event{id, true})
	}
}

// spoke records that a message of a target arrived. A connection reports once, before all other
// messages, that it receives messages. This report can be lost, so any message replaces it.
func (m *members) spoke(id fleet.TargetID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.of[id]; len(all) > 0 && !m.here(id) {
		all[len(all)-1].here = true
		m.tell(event{id, true})
	}
}

// gone removes a connection. last is true if the target has no other receiving connection.
func (m *members) gone(connection uint64) (id fleet.TargetID, last bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id = m.owner[connection]
	before := m.here(id)
	delete(m.owner, connection)
	m.of[id] = slices.DeleteFunc(m.of[id], func(c *member) bool { return c.connection == connection })
	if len(m.of[id]) == 0 {
		delete(m.of, id)
	}
	last = before && !m.here(id)
	if last {
		m.tell(event{id, false})
	}
	return id, last
}

// here must be called with the lock held.
func (m *members) here(id fleet.TargetID) bool {
	return slices.ContainsFunc(m.of[id], func(c *member) bool { return c.here })
}

// connections returns the connections of one target.
func (m *members) connections(id fleet.TargetID) []uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []uint64
	for _, c := range m.of[id] {
		out = append(out, c.connection)
	}
	return out
}

// list returns the connected targets, sorted.
func (m *members) list() []fleet.TargetID {
	m.mu.Lock()
	defer m.mu.Unlock()
	ids := slices.Sorted(maps.Keys(m.of))
	return slices.DeleteFunc(ids, func(id fleet.TargetID) bool { return !m.here(id) })
}

func (m *members) watch(each func(fleet.TargetID, bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.each = append(m.each, each)
}

// tell must be called with the lock held. A goroutine calls the watchers in order and without the
// lock, as long as there are events.
func (m *members) tell(e event) {
	m.events = append(m.events, e)
	if m.busy {
		return
	}
	m.busy = true
	go m.deliver()
}

func (m *members) deliver() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.events) > 0 {
		e, each := m.events[0], slices.Clone(m.each)
		m.events = m.events[1:]
		m.mu.Unlock()
		for _, f := range each {
			f(e.id, e.here)
		}
		m.mu.Lock()
	}
	m.busy = false
}
