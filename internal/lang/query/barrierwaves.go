package query

import (
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// barrierWaves compares barriers with the strategies of their members. It computes the strategies on first use.
type barrierWaves struct {
	p          *source.Program
	labels     map[string]map[string]string // by target
	strategies map[string]string            // by target: the name; nil before the first use
	declared   map[string]Strategy          // by name
	sizes      map[string]int               // by name: number of targets
}

// warn warns about a barrier that a rollout may keep closed: enough members must get a change in one wave, at the same
// time.
func (x *barrierWaves) warn(r *syntax.Reports, b *source.Barrier, members []string) {
	need := requiredOf(b.Quorum, len(members))
	if need < 2 || need > len(members) {
		return // one arrival opens it, or it cannot open
	}
	x.read()
	name := x.strategies[members[0]]
	why := ""
	switch other := slices.IndexFunc(members, func(t string) bool { return x.strategies[t] != name }); {
	case name == "":
		return // an error of the policy
	case other >= 0:
		why = fmt.Sprintf("%s and %s have different strategies", members[0], members[other])
	case name == source.DefaultStrategy:
		why = fmt.Sprintf("the strategy %s has several waves", name)
	default:
		why = splitBy(x.strategy(name), members, need, x.sizes[name])
	}
	if why == "" {
		return
	}
	r.Add(diag.Warningf(b.Range, "Barrier in several waves",
		"The barrier %q needs %d members at the same time, but a rollout may give them a change one after another: %s. "+
			"Members that wait then fail after the timeout of their states. Put all members into one wave without size and "+
			"with max_unavailable = %d or more, or set rollout = \"at-once\" in their policy.", b.Name, need, why, need))
}

// read finds the strategy of each target.
func (x *barrierWaves) read() {
	if x.strategies != nil {
		return
	}
	x.strategies, x.declared, x.sizes = map[string]string{}, map[string]Strategy{}, map[string]int{}
	for _, t := range x.p.Targets {
		ignored := &syntax.Reports{} // errors of a target are reported when the target is used
		name := strategyOf(x.p, ignored, Levels(x.p, ignored, t))
		x.strategies[t.Name] = name
		x.sizes[name]++
	}
}

// strategy returns a declared strategy with the targets of its waves. A built-in strategy has no waves here.
func (x *barrierWaves) strategy(name string) Strategy {
	s, known := x.declared[name]
	if decl := x.p.Strategy(name); !known && decl != nil {
		of := map[string]map[string]string{}
		for t, used := range x.strategies {
			if used == name {
				of[t] = x.labels[t]
			}
		}
		s = strategy(decl, of)
		x.declared[name] = s
	}
	return s
}

// requiredOf returns the number of arrivals that opens a barrier if all members count.
func requiredOf(quorum string, members int) int {
	if quorum == source.AllMembers {
		return members
	}
	n, err := amount.Parse(quorum)
	switch {
	case err != nil:
		return 0
	case n.Percent:
		return (members*n.Number + 99) / 100
	}
	return n.Number
}

// splitBy returns why a strategy may give members a change one after another, or "". all is the number of targets with
// the strategy.
func splitBy(s Strategy, members []string, need, all int) string {
	left := slices.Clone(members)
	for _, w := range s.Waves {
		in, count := left, all
		if !w.All {
			in, count = intersection(left, w.Selected), len(w.Selected)
		}
		if len(in) == 0 {
			continue
		}
		most, err := amount.Parse(w.MaxUnavailable)
		switch {
		case err != nil:
			return ""
		case w.Size != "":
			return fmt.Sprintf("the wave %s of the strategy %s has a size", w.Name, s.Name)
		case len(in) < need && len(in) < len(left):
			return fmt.Sprintf("only %d of them are in the wave %s of the strategy %s", len(in), w.Name, s.Name)
		case max(1, most.Of(count)) < need:
			return fmt.Sprintf("max_unavailable of the wave %s of the strategy %s permits %d at the same time", w.Name, s.Name,
				max(1, most.Of(count)))
		}
		return ""
	}
	return ""
}

// intersection returns the elements of a list that a sorted list contains.
func intersection(list, sorted []string) (out []string) {
	for _, x := range list {
		if _, is := slices.BinarySearch(sorted, x); is {
			out = append(out, x)
		}
	}
	return out
}
