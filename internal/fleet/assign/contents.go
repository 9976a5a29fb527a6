package assign

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
)

// TargetsOf converts compiled targets to Contents.Targets. A bundle contains a whole directory
// modules/NAME, so all uses below it become one module. Uses in other directories belong to the
// root bundle, and no module waits for them.
func TargetsOf(list []query.Target) map[string]Configured {
	var labels fleet.LabelPool
	shared := map[*query.Use]Configured{}
	var windows windowLists
	out := make(map[string]Configured, len(list))
	for _, t := range list {
		var c Configured
		if len(t.Uses) > 0 {
			var known bool
			if c, known = shared[&t.Uses[0]]; !known {
				c = configured(t.Uses)
				shared[&t.Uses[0]] = c
			}
		}
		c.Strategy, c.Windows = t.Strategy, windows.share(t.Windows)
		c.Labels, c.Errors = labels.Labels(t.Labels), slices.Concat(t.Errors, c.Errors)
		out[t.Name] = c
	}
	return out
}

// configured combines the uses of each bundle.
func configured(uses []query.Use) Configured {
	var c Configured
	at := map[string]int{}
	for _, u := range uses {
		c.ExportUses = append(c.ExportUses, u.Exported...)
		part := content.PartOf(u.Directory)
		if part == content.RootBundle {
			continue
		}
		i, known := at[part]
		if !known {
			i = len(c.Modules)
			at[part] = i
			c.Modules = append(c.Modules, Module{Directory: part})
		}
		m := &c.Modules[i]
		for _, g := range u.From {
			m.From = append(m.From, g.By+" ("+g.Range.String()+")")
		}
		for _, n := range u.Needs {
			if other := content.PartOf(n.Directory); other != part && other != content.RootBundle {
				m.Needs = needToo(m.Needs, fleet.Need{Module: other, Level: fleet.Level(n.Level), Layer: n.Layer})
			}
		}
		slices.SortFunc(m.Needs, func(a, b fleet.Need) int { return cmp.Compare(a.Module, b.Module) })
	}
	if why := badNeeds(assigned(c.Modules)); why != "" {
		c.Errors = append(c.Errors, why)
	}
	return c
}

// needToo adds a need. For two needs of the same module the higher level wins, and the need is a
// layer only if both are.
func needToo(list []fleet.Need, n fleet.Need) []fleet.Need {
	for i := range list {
		if old := &list[i]; old.Module == n.Module {
			if rank(old.Level) < rank(n.Level) {
				old.Level = n.Level
			}
			old.Layer = old.Layer && n.Layer
			return list
		}
	}
	return append(list, n)
}

func rank(l fleet.Level) int { return slices.Index(source.NeedLevels(), string(l)) }

// assigned converts modules for badNeeds.
func assigned(list []Module) []fleet.Assigned {
	out := make([]fleet.Assigned, len(list))
	for i, m := range list {
		out[i] = fleet.Assigned{Module: m.Directory, Needs: m.Needs}
	}
	return out
}

// Revisions returns the compiled commits of the last computation. The caller must not modify them.
func (o Output) Revisions() map[string]Contents { return o.in.Revisions }

// ContentDigests returns the digests of all content in the revisions of the last computation.
func (o Output) ContentDigests() map[string]bool {
	out := map[string]bool{}
	for _, r := range o.in.Revisions {
		out[r.Root.Digest] = true
		for _, all := range []map[string]fleet.Bundle{r.Bundles, r.Proofs} {
			for _, b := range all {
				out[b.Digest] = true
			}
		}
	}
	return out
}
