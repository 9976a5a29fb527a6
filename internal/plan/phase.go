package plan

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// Passed tells whether a machine is past a stage: of all that a later phase writes
// again, nothing is still to come to the state that it has in this one.
func Passed(in Input) bool {
	now := in.entries()
	for _, s := range in.Wanted {
		e, applied := now[s.Addr()]
		if len(in.Later[s.Addr()]) > 0 && !in.further(s, e, applied) {
			return false
		}
	}
	return true
}

// further tells whether an address has come to a later phase than that of the
// step: it was applied so, or is found so.
func (in *Input) further(s step.Step, e journal.Entry, applied bool) bool {
	if !in.More {
		return false
	}
	if applied && parse(e.Step).Phase() > s.Phase() {
		return true
	}
	now := in.Observed[s.Addr()]
	for _, l := range in.Later[s.Addr()] {
		if to, err := in.Rules.Target(l, now); err == nil && now.Known() && to.Same(now) {
			return true
		}
	}
	return false
}

func (in *Input) entries() map[addr.Addr]journal.Entry {
	out := make(map[addr.Addr]journal.Entry, len(in.Applied.Entries))
	for _, e := range in.Applied.Entries {
		out[e.Addr] = e
	}
	return out
}

// After is the input of a plan that is made when p is done: what is observed and
// applied is what p leaves, as far as that can be told before.
func (in Input) After(p *Plan) Input {
	entries, ran := in.entries(), map[addr.Addr]bool{}
	seen := make(map[addr.Addr]image.Image, len(in.Observed))
	for a, i := range in.Observed {
		seen[a] = i
	}
	for _, c := range p.Changes {
		if !c.Action.Mutates() && c.Action != Adopt || c.Step == "" {
			continue
		}
		ran[c.Addr] = true
		if c.To != nil {
			seen[c.Addr] = *c.To
		}
		if c.Addr.Kind() != addr.KindAct {
			entries[c.Addr] = journal.Entry{Addr: c.Addr, Step: c.Step, Src: c.Source, Origin: c.From}
		}
	}
	in.Observed = seen
	in.Applied.Pending = withoutRun(in.Applied.Pending, ran)
	in.Applied.Entries = orderedAs(in.Applied.Entries, p.Changes, entries)
	return in
}

func withoutRun(pending []journal.PendingAct, ran map[addr.Addr]bool) []journal.PendingAct {
	var out []journal.PendingAct
	for _, p := range pending {
		if !ran[p.Addr] {
			out = append(out, p)
		}
	}
	return out
}

// orderedAs gives entries in the order in which they came: those of before, then
// those of the plan.
func orderedAs(before []journal.Entry, changes []Change, entries map[addr.Addr]journal.Entry) []journal.Entry {
	var out []journal.Entry
	take := func(a addr.Addr) {
		if e, ok := entries[a]; ok {
			out = append(out, e)
			delete(entries, a)
		}
	}
	for _, e := range before {
		take(e.Addr)
	}
	for _, c := range changes {
		take(c.Addr)
	}
	return out
}
