package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
)

// Section is a part of a list that fails independently. If a state in it fails, the run continues
// without the remaining section and without Behind, and still ends as failed.
type Section struct {
	Name   string      `json:"name"` // for display
	Addrs  []addr.Addr `json:"addrs"`
	Behind []addr.Addr `json:"behind,omitempty"` // addresses of other sections that need this one, and are barred too
}

// sections returns the sections of change i.
func (r *run) sections(i int) []Section {
	a := r.plan.Changes[i].Addr
	return slices.DeleteFunc(slices.Clone(r.Sections), func(s Section) bool { return !slices.Contains(s.Addrs, a) })
}

// Bar records that a section failed: its remaining changes, the changes behind it and their checks do
// not run. Repeated calls have no further effect.
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
