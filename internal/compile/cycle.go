package compile

import (
	"regexp"
	"strings"
	"sync"

	"fettle.dev/fettle/internal/catalog"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/step"
)

// reportCycle reports a cycle of states, with the reason and place of each hop.
func (b *builder) reportCycle(cycle []catalog.Arc) {
	var hops []string
	var trace []diag.Range
	start := b.nameOf(cycle[0].From)
	hops = append(hops, start)
	last := start
	for _, a := range cycle {
		n := b.notes[a.Note]
		name := b.nameOf(a.To)
		if name == last {
			continue
		}
		last = name
		why := n.why
		if p := n.rng.String(); p != "" {
			why += " at " + p
			trace = append(trace, n.rng)
		}
		hops = append(hops, name+" ("+why+")")
	}
	if len(hops) == 1 {
		b.reportSelf(start, cycle)
		return
	}
	d := diag.Errorf(diag.Range{}, "Cyclic order",
		"Each of these must run before the next: %s. Remove one of the references.", strings.Join(hops, " → "))
	if len(trace) > 0 {
		d.Range, d.Trace = trace[0], trace[1:]
	}
	b.ds = append(b.ds, d)
}

// reportSelf reports a state that depends on itself.
func (b *builder) reportSelf(name string, cycle []catalog.Arc) {
	d := diag.Errorf(diag.Range{}, "Cyclic order", "%s depends on itself. Remove the reference.", name)
	for _, a := range cycle {
		if n := b.notes[a.Note]; n.rng.String() != "" {
			d.Range = n.rng
			d.Detail = name + " depends on itself (" + n.why + "). Remove the reference."
			break
		}
	}
	b.ds = append(b.ds, d)
}

func (b *builder) nameOf(i int) string {
	it := b.items[i]
	if it.node >= 0 {
		return b.c.Nodes[it.node].ID
	}
	return it.name
}

// missingDir matches advice of the lint for step lists, which is replaced by advice for states.
var (
	missingDir = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Put MKDIR (\S+) before this step\.`) })
	missingPkg = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`Put PKG (\S+) before this step\.`) })
)

// lint checks the list as a whole. Its findings have the places of the states.
func (b *builder) lint(res *Result) {
	if b.ds.HasErrors() {
		return
	}
	placed := make(step.List, len(res.List))
	copy(placed, res.List)
	for _, st := range res.States {
		for _, i := range st.Steps {
			placed[i].Range, placed[i].Trace = st.Range, b.ways[st.ID]
			if n := len(placed[i].String()); n > step.MaxLine {
				b.ds = append(b.ds, diag.Errorf(st.Range, "State too long",
					"The state becomes a step of %d bytes, and the limit is %d. "+
						"Move long content into a separate file.", n, step.MaxLine).UsedAt(b.ways[st.ID]))
			}
		}
	}
	for _, d := range (step.LintOptions{RequireUndo: res.Policy.RequireUndo}).Lint(placed, step.DebianBase{}) {
		d.Detail = missingDir().ReplaceAllString(d.Detail, `Declare it: directory "$1" {}.`)
		d.Detail = missingPkg().ReplaceAllString(d.Detail, `Declare it: package "$1" {}.`)
		way := d.Trace
		d.Trace = nil
		b.ds = append(b.ds, d.UsedAt(way))
	}
}
