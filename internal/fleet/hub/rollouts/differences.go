package rollouts

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// differences computes changes and digests of parts for very many targets. Targets with the same modules share
// their lists, so most results are needed again, also in the next decision. Lists are identified by their addresses:
// they do not change, and they stay in memory while a result for them is kept. The zero value is ready for use.
type differences struct {
	digests  map[content]string
	lists    map[lists][]rollout.Change // the changes between two lists of modules
	absent   map[lists][]string         // the modules of the second list that the first one does not have
	composed map[combination]composed
	strange  map[strange][]string // results of foreign
}

// content identifies the content of a part, like its digest. Equal needs of targets have the same address.
type content struct {
	bundle, repository, branch, signer string
	needs                              *fleet.Need
	count                              int
}

// lists identifies the previous and the desired modules of a target.
type lists struct {
	was, want   *fleet.Assigned
	had, wanted int
}

func listsOf(was, want []fleet.Assigned) (l lists) {
	if l.had, l.wanted = len(was), len(want); l.had > 0 {
		l.was = &was[0]
	}
	if l.wanted > 0 {
		l.want = &want[0]
	}
	return l
}

// The numbers of results that are kept. A list can have thousands of modules.
const (
	maxDigests = 20_000
	maxLists   = 1000
)

// limited returns a map that has fewer elements than most: the map, or a new one.
func limited[K comparable, V any](m map[K]V, most int) map[K]V {
	if m == nil || len(m) >= most {
		return map[K]V{}
	}
	return m
}

// digest is the function digest.
func (d *differences) digest(p fleet.Assigned) string {
	key := content{p.Bundle.Digest, p.Revision.Repository, p.Revision.Branch, p.Revision.Signer, nil, len(p.Needs)}
	if len(p.Needs) > 0 {
		key.needs = &p.Needs[0]
	}
	known, ok := d.digests[key]
	if !ok {
		known, d.digests = digest(p), limited(d.digests, maxDigests)
		d.digests[key] = known
	}
	return known
}

// has is the function has.
func (d *differences) has(a *fleet.Assignment, part string) string {
	if found, ok := find(a, part); ok {
		return d.digest(found)
	}
	return ""
}

// all returns the parts of an assignment.
func (d *differences) all(a *fleet.Assignment) (out []rollout.Change) {
	if a == nil || a.Withdrawn != "" {
		return nil
	}
	for _, p := range parts(*a) {
		out = append(out, rollout.Change{Part: partName(p), Digest: d.digest(p)})
	}
	return out
}

// wants is the function wants. The caller must not modify the result.
func (d *differences) wants(was *fleet.Assignment, want fleet.Assignment) []rollout.Change {
	if was == nil || was.Withdrawn != "" {
		was = &fleet.Assignment{}
	} else if sameContent(was.Root, want.Root) {
		return d.modules(was.Modules, want.Modules)
	}
	root := rollout.Change{Part: rootPart, Digest: d.digest(want.Root)}
	return append([]rollout.Change{root}, d.modules(was.Modules, want.Modules)...)
}

// modules returns the changes from one list of modules to another.
func (d *differences) modules(was, want []fleet.Assigned) []rollout.Change {
	key := listsOf(was, want)
	known, ok := d.lists[key]
	if !ok {
		known, d.lists = moduleChanges(was, want, d.digest), limited(d.lists, maxLists)
		d.lists[key] = known
	}
	return known
}

// missing returns the parts that a target with an assignment does not have. The caller must not modify the result.
func (d *differences) missing(was *fleet.Assignment, want fleet.Assignment) []string {
	if was == nil || was.Withdrawn != "" {
		return nil
	}
	key := listsOf(was.Modules, want.Modules)
	known, ok := d.absent[key]
	if !ok {
		known, d.absent = absent(was.Modules, want.Modules), limited(d.absent, maxLists)
		d.absent[key] = known
	}
	return known
}

func absent(was, want []fleet.Assigned) (out []string) {
	had := map[string]bool{}
	for _, m := range was {
		had[m.Module] = true
	}
	for _, m := range want {
		if !had[m.Module] {
			out = append(out, m.Module)
		}
	}
	return out
}

// wants returns the changes from one assignment to another, sorted by part as in want.
func wants(was *fleet.Assignment, want fleet.Assignment) []rollout.Change {
	var d differences
	return d.wants(was, want)
}

// composed is the result of choices for the parts of an assignment.
type composed struct {
	root    *fleet.Assigned
	modules []fleet.Assigned
	missing string // why the parts cannot be used together, or ""
}

// combination identifies a result for many targets: the same lists of modules, and the same choices about their
// differences.
type combination struct {
	lists
	choices string
}

// strange identifies an assignment and the content that its target showed.
type strange struct {
	root    string // digest
	modules lists
	shown   *records.Content
}

// foreign returns the parts of an assignment that have the content that the target showed, sorted. The caller must not
// modify the result.
func (d *differences) foreign(was *fleet.Assignment, shown []records.Content) []string {
	if len(shown) == 0 || was == nil || was.Withdrawn != "" {
		return nil
	}
	key := strange{was.Root.Bundle.Digest, listsOf(was.Modules, nil), &shown[0]}
	known, ok := d.strange[key]
	if !ok {
		known, d.strange = common(records.ContentsOf(*was), shown), limited(d.strange, maxLists)
		d.strange[key] = known
	}
	return known
}

// common returns the parts that two sorted lists have with the same content.
func common(a, b []records.Content) (out []string) {
	for _, c := range a {
		i, found := slices.BinarySearchFunc(b, c, func(x, y records.Content) int { return cmp.Compare(x.Part, y.Part) })
		if found && b[i] == c {
			out = append(out, c.Part)
		}
	}
	return out
}
