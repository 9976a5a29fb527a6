package assign

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/lang/source"
)

// MinExportInterval is the shortest time in seconds between two assignments of a target that differ only in
// exported values. It limits the cost of values that never stop changing, such as values of targets
// that use the values of each other.
const MinExportInterval = 15

// output identifies an exported output of a module.
type output struct{ module, name string }

// publisher is a target that exports a value for an output.
type publisher struct {
	*decision
	own exported.Own
}

// givens caches the tables of exported values, which many targets share.
type givens struct {
	by     map[output][]publisher // sorted by the name of the target; nil before the first use
	tables map[string][]exported.Table
}

// exported returns the tables of exported values for a target: for each output that its modules
// use, the values of the targets that they select.
func (c *computation) exported(d *decision, ref string, got Contents,
	conf Configured) (tables []exported.Table, why string) {
	if len(conf.ExportUses) == 0 {
		return nil, ""
	}
	key := fmt.Sprintf("%q %p %s", ref, &conf.ExportUses[0], mine(conf))
	tables, known := c.given.tables[key]
	if !known {
		tables = c.tables(got, conf)
		if c.given.tables == nil {
			c.given.tables = map[string][]exported.Table{}
		}
		c.given.tables[key] = tables
	}
	if n := exported.Size(tables); n > exported.MaxGiven {
		c.alarms.add(TooMuchExported, d.target.ID,
			"The assignments of targets do not change: the exported values for them have %d KiB, and the limit is %d KiB. Select fewer values with targets, labels or same.", n>>10, exported.MaxGiven>>10)
		return nil, fmt.Sprintf("the exported values for it have %d KiB", n>>10)
	}
	return tables, ""
}

// mine returns the target's own labels that influence its tables.
func mine(conf Configured) string {
	var b strings.Builder
	for _, e := range conf.ExportUses {
		for _, k := range e.Same {
			fmt.Fprintf(&b, "%q=%q ", k, conf.Labels[k])
		}
	}
	return b.String()
}

func (c *computation) tables(got Contents, conf Configured) []exported.Table {
	asks := map[output][]source.Exported{}
	var order []output
	for _, e := range conf.ExportUses {
		if e.Type == nil {
			continue // a configuration error, which is reported elsewhere
		}
		o := output{e.Module, e.Output}
		if asks[o] == nil {
			order = append(order, o)
		}
		asks[o] = append(asks[o], e)
	}
	out := make([]exported.Table, 0, len(order))
	for _, o := range order {
		out = append(out, c.table(o, asks[o], got, conf))
	}
	exported.Sort(out)
	return out
}

// table returns the values of an output that any of the uses selects.
func (c *computation) table(o output, asks []source.Exported, got Contents, conf Configured) exported.Table {
	t := exported.Table{Module: o.module, Output: o.name, Type: asks[0].Type, Values: []exported.Value{}}
	typ, err := exported.TypeOf(t.Type)
	if err != nil {
		return t // cannot happen: the compiler has checked the type
	}
	var all []offeredValue
	var selects []func(name string, labels, mine map[string]string) bool
	for _, e := range asks {
		selects = append(selects, e.Selector())
	}
	for _, p := range c.publishers()[o] {
		theirs, has := got.Targets[p.target.Name]
		selected := func(s func(string, map[string]string, map[string]string) bool) bool {
			return s(p.target.Name, theirs.Labels, conf.Labels)
		}
		if !has || !hasModule(theirs, o.module) || !slices.ContainsFunc(selects, selected) {
			continue
		}
		text := json.RawMessage(p.own.Value)
		if _, err := exported.ValueOf(text, typ); err != nil {
			c.alarms.add(WrongValue, p.target.ID,
				"The values that targets export as %s of %s have another type than the output, so no target gets them: %v.",
				o.name, o.module, err)
			continue
		}
		all = append(all, offeredValue{p.target.Suspect != nil,
			exported.Value{Target: p.target.Name, As: p.own.As, Labels: relevant(asks, theirs.Labels), Value: text}})
	}
	t.Values = append(t.Values, reliable(all)...)
	return t
}

// offeredValue is a value with the mark of its target.
type offeredValue struct {
	suspect bool
	exported.Value
}

// reliable omits the values of suspect targets. If all targets are suspect, it returns all values:
// a doubtful list is better than an empty one.
func reliable(all []offeredValue) []exported.Value {
	none := !slices.ContainsFunc(all, func(v offeredValue) bool { return !v.suspect })
	var out []exported.Value
	for _, v := range all {
		if none || !v.suspect {
			out = append(out, v.Value)
		}
	}
	return out
}

func hasModule(conf Configured, directory string) bool {
	return slices.ContainsFunc(conf.Modules, func(m Module) bool { return m.Directory == directory })
}

// relevant returns the labels that the uses select by. A change of another label changes no
// assignment.
func relevant(asks []source.Exported, labels map[string]string) map[string]string {
	var out map[string]string
	take := func(k string) {
		if v, ok := labels[k]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[k] = v
		}
	}
	for _, e := range asks {
		for k := range e.Labels {
			take(k)
		}
		for _, k := range e.Same {
			take(k)
		}
	}
	return out
}

// publishers returns the active targets by exported output. Targets with an ambiguous name are
// omitted.
func (c *computation) publishers() map[output][]publisher {
	if c.given.by != nil {
		return c.given.by
	}
	c.given.by = map[output][]publisher{}
	names := map[string]int{}
	for _, d := range c.all {
		if d.target.Standing == fleet.Active {
			names[d.target.Name]++
		}
	}
	for _, d := range c.all {
		if d.target.Standing != fleet.Active || names[d.target.Name] > 1 {
			continue
		}
		for _, own := range c.in.Exports[d.target.ID] {
			o := output{own.Module, own.Output}
			c.given.by[o] = append(c.given.by[o], publisher{d, own})
		}
	}
	for _, list := range c.given.by {
		slices.SortFunc(list, func(a, b publisher) int {
			return cmp.Or(cmp.Compare(a.target.Name, b.target.Name), cmp.Compare(a.own.As, b.own.As))
		})
	}
	return c.given.by
}

// damped reports whether an assignment differs only in exported values and must wait because of
// MinExportInterval.
func (c *computation) damped(d *decision, give fleet.Assignment) bool {
	until := d.was.Issued + MinExportInterval
	if c.in.Now >= until || d.was.Issued > c.in.Now {
		return false
	}
	same := give
	same.Exported = d.was.Exported
	if !same.Same(*d.was) {
		return false
	}
	c.at(until)
	return true
}
