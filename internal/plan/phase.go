package plan

import (
	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// StageCompleted reports whether a host has completed a stage, which is the part of a list up to its
// next phase: each address with a later phase has reached its state of that phase.
func StageCompleted(in Input) bool {
	now := in.entries()
	for _, s := range in.Desired {
		e, applied := now[s.Addr()]
		if len(in.Later[s.Addr()]) > 0 && !in.further(s, e, applied) {
			return false
		}
	}
	return true
}

// further reports whether an address is already in a later phase than the step, according to its
// applied or its observed state.
func (in *Input) further(s step.Step, e journal.Entry, applied bool) bool {
	if !in.MorePhases {
		return false
	}
	if applied && e.Step.Phase() > s.Phase() {
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

// After returns the input of the plan after p. Its observed and applied state is the expected result
// of p.
func (in Input) After(p *Plan) Input {
	entries, ran := in.entries(), map[addr.Addr]bool{}
	seen := make(map[addr.Addr]image.Image, len(in.Observed))
	for a, i := range in.Observed {
		seen[a] = i
	}
	for _, c := range p.Changes {
		if !c.Action.Mutates() && c.Action != Adopt || c.Step.IsZero() {
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

// orderedAs returns entries in the order of before, followed by the order of the plan.
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
