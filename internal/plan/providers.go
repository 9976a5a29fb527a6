package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
)

// provider returns the change of this plan so far that most probably provides an object; the last one
// of equals. The change has no address if there is none.
func (m *providers) provider(need addr.Addr) (by Change, sure int) {
	for _, c := range m.p.Changes {
		if p := provides(c, need); p >= sure && p > never && !m.knownToLack(c, need) {
			sure, by = p, c
		}
	}
	return by, sure
}

// knownToLack reports whether a path is missing in a directory that is restored: the content of the
// stored directory is known.
func (m *providers) knownToLack(c Change, need addr.Addr) bool {
	if m.in.StoredTree == nil || c.To == nil || c.To.File() == nil || c.To.File().Tree == "" ||
		need.Kind() != addr.KindFile {
		return false
	}
	rel, below := strings.CutPrefix(need.Name(), c.Addr.Path()+"/")
	return below && !slices.ContainsFunc(m.in.StoredTree(c.To.File().Tree),
		func(k TreeFile) bool { return k.Rel == rel || k.File.Type == image.Symlink && under(rel, k.Rel) })
}

// later reports whether an earlier change of the plan may remove the cause of an error, and describes
// this change. In a rollback any change may, because it restores more than its steps name.
func (m *providers) later(err error) (how string, ok bool) {
	if all, ok := err.(interface{ Unwrap() []error }); ok { // all joined errors must have such a change
		for _, e := range all.Unwrap() {
			if how, ok = m.later(e); !ok {
				return "", false
			}
		}
		return how, true
	}
	var w interface{ InTheWay() addr.Addr }
	if errors.As(err, &w) {
		return fmt.Sprintf("%s changes before it", w.InTheWay()), m.changed[w.InTheWay()]
	}
	var n interface{ Needs() addr.Addr }
	if !errors.As(err, &n) {
		return "", false
	}
	by, _ := m.provider(n.Needs())
	if by.Addr == "" && m.in.Goal != nil && len(m.changed) > 0 {
		return fmt.Sprintf("needs the %s, which this rollback may restore before it", inWords(n.Needs())), true
	}
	return fmt.Sprintf("needs the %s, which %s before it can provide", inWords(n.Needs()), by.Addr), by.Addr != ""
}

// uncured returns the joined errors whose cause no earlier change removes.
func (m *providers) uncured(err error) error {
	all, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	return errors.Join(slices.DeleteFunc(slices.Clone(all.Unwrap()), func(e error) bool {
		_, later := m.later(e)
		return later
	})...)
}
