package view

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// PartInUse is the content of a module, or of the root bundle, that is assigned to active targets. If several commits
// have the same content, the revision is the newest.
type PartInUse struct {
	fleet.Assigned
	Targets int
	First   []string // the names of the first targets
}

// targetsOf counts the targets of a list or part.
type targetsOf struct {
	count int
	first []string
}

func (t *targetsOf) add(other targetsOf, most int) {
	t.count += other.count
	t.first = append(t.first, other.first...)
	slices.Sort(t.first)
	t.first = t.first[:min(len(t.first), most)]
}

// PartsInUse returns all parts that are assigned to active targets, by module and digest, each with the names of at
// most some targets. Withdrawn assignments do not count.
func PartsInUse(ctx context.Context, v *View, most int) ([]PartInUse, error) {
	type key struct{ module, digest string }
	found := map[key]*PartInUse{}
	err := v.look(ctx, func(s *readTx) error {
		parts, err := s.targetsOfParts(most)
		if err != nil {
			return err
		}
		for _, n := range slices.Sorted(maps.Keys(parts)) {
			a, err := s.assigned(n)
			if err != nil {
				return err
			}
			k := key{a.Module, a.Bundle.Digest}
			p := found[k]
			if p == nil {
				p = &PartInUse{Assigned: a}
				found[k] = p
			}
			if a.Revision.Time > p.Revision.Time {
				p.Revision = a.Revision
			}
			sum := targetsOf{p.Targets, p.First}
			sum.add(*parts[n], most)
			p.Targets, p.First = sum.count, sum.first
		}
		return nil
	})
	out := make([]PartInUse, 0, len(found))
	for _, p := range found {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b PartInUse) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Bundle.Digest, b.Bundle.Digest))
	})
	return out, err
}

// targetsOfParts returns the targets of each part, by its number.
func (s *readTx) targetsOfParts(most int) (map[int64]*targetsOf, error) {
	text, args := within(s.ctx)
	rows, err := s.QueryContext(s.ctx, `
    SELECT a.top, a.list, t.name FROM assignments a JOIN targets t USING (target)
    WHERE t.active AND a.withdrawn = '' AND `+text+` ORDER BY t.name`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	parts, lists := map[int64]*targetsOf{}, map[int64]*targetsOf{}
	for rows.Next() {
		var top, list int64
		var name string
		if err := rows.Scan(&top, &list, &name); err != nil {
			return nil, err
		}
		countTargets(parts, top, targetsOf{1, []string{name}}, most)
		countTargets(lists, list, targetsOf{1, []string{name}}, most)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	wanted, err := s.lists("")
	for list, t := range lists {
		for _, w := range wanted[list] {
			countTargets(parts, w.n, *t, most)
		}
	}
	return parts, err
}

func countTargets(in map[int64]*targetsOf, n int64, t targetsOf, most int) {
	if in[n] == nil {
		in[n] = &targetsOf{}
	}
	in[n].add(t, most)
}
