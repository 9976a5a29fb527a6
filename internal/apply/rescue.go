package apply

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// rescue is an action that rescues a block: where it succeeds after a failure in
// the block, the run goes on with what is neither in the block nor behind it.
type rescue struct {
	block string
	act   addr.Addr
	in    map[addr.Addr]bool
	out   []addr.Addr // in the block and behind it
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

// rescuers are the actions that rescue the blocks which change i is in.
func (m *Machine) rescuers(i int) []rescue {
	return slices.DeleteFunc(slices.Clone(m.rescues), func(r rescue) bool { return !r.in[m.changes[i].Addr] })
}

// Rescue takes in that the failure of change i is rescued: the rest of its blocks
// is barred, what comes after them, and every check, for what they are about is
// not all there. It gives the names of the blocks. Calling it again changes
// nothing.
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

// Out tells whether all of some addresses are in blocks that failed and were
// rescued, or behind them: an action that only they notify is not due.
func (m *Machine) Out(notifiers []addr.Addr) bool {
	return len(m.out) > 0 && !slices.ContainsFunc(notifiers, func(a addr.Addr) bool { return !m.out[a] })
}

// listener is an action that the failure of a change tells.
type listener struct {
	change int
	act    addr.Addr
}

// goesOnAfter looks at the failures that are new: if each was rescued, or is in a section
// of its own, the run goes on without what depends on them, and still ends as failed. Else the first
// that was not is the one that ends it. A run that is undone on a failure is
// undone after a rescued one too.
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
			r.note(fmt.Sprintf("%s failed and was rescued; what does not come after it goes on", strings.Join(r.m.Rescue(i), ", ")))
			continue
		}
		for _, s := range r.sections(i) {
			r.m.Bar(s)
			r.note(fmt.Sprintf("%s failed; what does not need it goes on", s.Name))
		}
	}
	r.failed = nil
	return true
}

// wasRescued tells whether change i is in a block, and all that rescues it
// succeeded.
func (r *run) wasRescued(i int) bool {
	all := r.m.rescuers(i)
	return len(all) > 0 && !slices.ContainsFunc(all, func(x rescue) bool {
		ok, ran := r.told[listener{i, x.act}]
		return !ran || !ok
	})
}
