package plan

import (
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// purge removes the entries of a directory with purge that no step writes. A rollback does not purge:
// it restores each path that runs have changed since to the image that they found, and leaves all
// other paths unchanged.
func (m *restoration) purge(s step.Step, now image.Image) {
	if s.Verb != step.Mkdir || s.Get("purge") != "true" || now.File() == nil || m.in.Goal != nil {
		return
	}
	for _, name := range m.entries(s.Path(), *now.File()) {
		p := path.Join(s.Path(), name)
		a := addr.File(p)
		if m.refusals.paths[p] || m.changed[a] || m.wanted[a] { // the step that removes it does so
			continue
		}
		c := Change{Action: Purge, Addr: a, PurgedBy: s.Addr(), Source: s.Source,
			Step: step.Step{Verb: step.Rm, Args: []string{p}}.Stored(),
			Why:  "no step writes it, and its directory is purged"}
		if m.now[s.Addr()].Step.Same(s) && !m.in.Repair {
			c.Action, c.Drifted = Drift, true // it was created after the directory was applied
		}
		m.add(c)
	}
}

// entries returns the names in a directory: the existing names, or the names in a restored tree.
func (m *forecast) entries(dir string, now image.File) []string {
	if m.in.StoredTree == nil || len(m.trees) == 0 {
		return now.Entries
	}
	rel := "."
	for p := dir; p != "/" && p != "."; p = path.Dir(p) {
		if tree := m.trees[p]; tree != "" {
			names := slices.Clone(now.Entries)
			for _, k := range m.in.StoredTree(tree) {
				if path.Dir(k.Rel) == rel {
					names = append(names, path.Base(k.Rel))
				}
			}
			slices.Sort(names)
			return slices.Compact(names)
		}
		rel = path.Join(path.Base(p), rel)
	}
	return now.Entries
}
