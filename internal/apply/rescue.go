package apply

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// rescue is an action that rescues a block: if it succeeds after a failure in the block, the run
// continues with the states that are neither in the block nor after it.
type rescue struct {
	block string
	act   addr.Addr
	in    map[addr.Addr]bool
	out   []addr.Addr // addresses in the block and after it
}

func rescuesOf(list step.List) []rescue {
	var all []rescue
	for _, s := range list {
		block, ok := s.Lookup("rescue")
		if !ok || s.Verb != step.Act {
			continue
		}
		r := rescue{block: block, act: s.Addr(), in: map[addr.Addr]bool{}, out: addrs(s.All("on_failure"))}
		for _, a := range r.out {
			r.in[a] = true
		}
		r.out = append(r.out, addrs(s.All("behind"))...)
		all = append(all, r)
	}
	return all
}

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

// Out reports whether all of the addresses are in or after failed and rescued blocks. An action that
// only these addresses notify does not run.
func (m *Machine) Out(notifiers []addr.Addr) bool {
	return len(m.out) > 0 && !slices.ContainsFunc(notifiers, func(a addr.Addr) bool { return !m.out[a] })
}

// listener is an action for the failure of a change.
type listener struct {
	change int
	act    addr.Addr
}

// goesOnAfter decides whether the run continues after its new failures. It continues if each failure
// was rescued or belongs to a section, and still ends as failed. Otherwise the first other failure
// ends the run. A run with the policy undo is undone also after a rescued failure.
func (r *run) goesOnAfter() bool {
	var failed []int
	for i := range r.plan.Changes {
		if f := r.faults[i]; f != nil && r.m.Status(i) == Failed && !slices.Contains(r.rescued, f) {
			failed = append(failed, i)
		}
	}
	for _, i := range failed {
		if r.header.OnFailure == Undo || !r.wasRescued(i) && len(r.sections(i)) == 0 {
			r.failed = r.faults[i]
			return false
		}
	}
	for _, i := range failed {
		r.rescued = append(r.rescued, r.faults[i])
		if r.wasRescued(i) {
			r.note(fmt.Sprintf("%s failed and was rescued; states that do not come after it continue", strings.Join(r.m.Rescue(i), ", ")))
			continue
		}
		for _, s := range r.sections(i) {
			r.m.Bar(s)
			r.note(fmt.Sprintf("%s failed; states that do not depend on it continue", s.Name))
		}
	}
	r.failed = nil
	return true
}

// wasRescued reports whether change i is in a block and all of its rescue actions succeeded.
func (r *run) wasRescued(i int) bool {
	all := r.m.rescuers(i)
	return len(all) > 0 && !slices.ContainsFunc(all, func(x rescue) bool {
		ok, ran := r.told[listener{i, x.act}]
		return !ran || !ok
	})
}
