package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
)

// Section is a piece of a list that has nothing to do with the rest but what is said here.
// When something in it fails the run goes on without the rest of it, and still ends as
// failed.
type Section struct {
	Name   string      `json:"name"` // for people
	Addrs  []addr.Addr `json:"addrs"`
	Behind []addr.Addr `json:"behind,omitempty"` // of others that need it, which are not reached either
}

// sections are those that change i is in.
func (r *run) sections(i int) []Section {
	a := r.plan.Changes[i].Addr
	return slices.DeleteFunc(slices.Clone(r.Sections), func(s Section) bool { return !slices.Contains(s.Addrs, a) })
}

// Bar takes in that a section failed: what is left of it and behind it is not reached, its
// checks neither. Calling it again changes nothing.
func (m *Machine) Bar(s Section) {
	for _, list := range [][]addr.Addr{s.Addrs, s.Behind} {
		for _, a := range list {
			m.out[a] = true
		}
	}
	for k, c := range m.changes {
		if m.status[k] == Do && m.out[c.Addr] {
			m.status[k] = Barred
		}
	}
}
