package local

import (
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
)

// goalList is the list of an earlier state as it really was: its managed
// addresses, with the actions and checks of its list in their places. unreached are the
// paths of the steps that its run, which failed, did not come to.
func (x *planner) goalList(st journal.State) (goal step.List, unreached []string, err error) {
	list, err := x.listOf(st)
	if err != nil {
		return nil, nil, err
	}
	g := newGoalSteps(x.followedSteps(list.Final()), st)
	for _, e := range st.Entries {
		if e.PurgedBy == "" && !g.listed[e.Addr] && g.above(e) == "" {
			g.add(e)
		}
	}
	for _, s := range g.list {
		if s.Verb == step.Act || s.Verb == step.Wait || s.Verb == step.Check {
			g.out = append(g.out, s)
		} else if e, ok := g.entries[s.Addr()]; ok && !g.placed[s.Addr()] {
			g.add(e)
		} else if p := s.Path(); !ok && p != "" && s.Verb != step.Rm {
			unreached = append(unreached, p)
		}
	}
	return g.out, unreached, nil
}

// goalSteps sorts the steps of the entries of a state. After a failed run there are
// entries that its list does not have. These entries are first, but an entry in a
// directory of the list follows that directory.
type goalSteps struct {
	list    step.List
	entries map[addr.Addr]journal.Entry
	listed  map[addr.Addr]bool
	inside  map[addr.Addr][]journal.Entry // entries that the list does not have, by directory
	placed  map[addr.Addr]bool
	out     step.List
}

func newGoalSteps(list step.List, st journal.State) *goalSteps {
	g := &goalSteps{list: list, entries: map[addr.Addr]journal.Entry{}, listed: map[addr.Addr]bool{},
		inside: map[addr.Addr][]journal.Entry{}, placed: map[addr.Addr]bool{}}
	for _, s := range list {
		g.listed[s.Addr()] = true
	}
	for _, e := range st.Entries {
		if e.PurgedBy == "" {
			g.entries[e.Addr] = e
		}
	}
	for _, e := range st.Entries {
		if dir := g.above(e); e.PurgedBy == "" && !g.listed[e.Addr] && dir != "" {
			g.inside[dir] = append(g.inside[dir], e)
		}
	}
	return g
}

// above is the nearest directory above an entry that is managed and in the list.
func (g *goalSteps) above(e journal.Entry) addr.Addr {
	if p := e.Addr.Path(); p != "" {
		for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
			if _, ok := g.entries[addr.File(d)]; ok && g.listed[addr.File(d)] {
				return addr.File(d)
			}
		}
	}
	return ""
}

// add adds the step of an entry, and then the entries in it.
func (g *goalSteps) add(e journal.Entry) {
	if e.Step.IsZero() {
		return
	}
	s := e.Step
	s.Source = e.Src
	g.placed[e.Addr] = true
	g.out = append(g.out, s)
	for _, in := range g.inside[e.Addr] {
		g.add(in)
	}
}
