package apply

import (
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/plan"
)

// rescuers returns the actions that rescue the blocks of change i.
func (m *Machine) rescuers(i int) []rescue {
	return slices.DeleteFunc(slices.Clone(m.rescues), func(r rescue) bool { return !r.in[m.changes[i].Addr] })
}

// Rescue records that the failure of change i is rescued, and returns the names of its blocks. The
// remaining changes of these blocks and all changes after them are barred. All checks are barred too,
// because a part of the verified objects is missing. Repeated calls have no further effect.
func (m *Machine) Rescue(i int) (blocks []string) {
	for _, r := range m.rescuers(i) {
		if !slices.Contains(blocks, r.block) {
			blocks = append(blocks, r.block)
		}
		for _, a := range r.out {
			m.out[a] = true
		}
	}
	for k, c := range m.changes {
		if m.status[k] == Do && (m.out[c.Addr] || c.Action == plan.Verify) {
			m.status[k] = Barred
		}
	}
	return blocks
}

// AllBarred reports whether all of the addresses are in or after failed and rescued blocks. An
// action that only these addresses notify does not run.
func (m *Machine) AllBarred(notifiers []addr.Addr) bool {
	return len(m.out) > 0 && !slices.ContainsFunc(notifiers, func(a addr.Addr) bool { return !m.out[a] })
}

// Bar records that a section failed: its remaining changes, the changes behind it and their checks do
// not run. Repeated calls have no further effect.
func (m *Machine) Bar(s Section) {
	for _, list := range [][]addr.Addr{s.Addrs, s.Dependents} {
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
