package compile

import (
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/incremental"
	"fettle.dev/fettle/internal/step"
)

// Difference is the difference between the lists of one target at two revisions: the changes of
// step.Diff, with steps in canonical form. It is also empty if only the order of the steps differs.
type Difference struct {
	Target  string
	Changes []step.Change
}

// Compared is a target whose lists are compared, and which revisions declare it.
type Compared struct {
	Target string
	Has    [2]bool
}

// Revisions compares the lists of targets at two revisions of a repository. It computes common
// parts of targets and of revisions once. Its lists are equal to the results of Repository.Compile.
// Revisions is not safe for concurrent use.
type Revisions struct {
	sides  [2]*Fleet
	shared *incremental.Revisions // nil if one of them has an error
	taken  int                    // how many lists reused the other revision
}

// Between returns a comparison of two revisions.
func Between(old, now *Repository) *Revisions {
	r := &Revisions{sides: [2]*Fleet{old.Fleet(), now.Fleet()}}
	if len(old.ds)+len(now.ds) == 0 {
		r.shared = incremental.Between(r.sides[0].sharing, r.sides[1].sharing)
	}
	return r
}

// Diff compares the lists of a target, whose name is t.Target; in.Target is ignored. The list is
// empty at a revision without the target. The diagnostics are from both revisions.
func (r *Revisions) Diff(in Input, t Compared) (Difference, diag.List) {
	in.Target = t.Target
	lists, ds := r.lists(in, t.Has)
	d := Difference{Target: in.Target}
	if !ds.HasErrors() {
		d.Changes = step.Diff(lists[0], lists[1])
	}
	return d, ds
}

func (r *Revisions) lists(in Input, has [2]bool) (lists [2]step.List, ds diag.List) {
	if r.shared == nil || has != [2]bool{true, true} {
		for i, f := range r.sides {
			if has[i] {
				list, more := f.List(in)
				lists[i], ds = list, append(ds, more...)
			}
		}
		return lists, ds
	}
	was := &outcome{}
	c, ds := r.shared.OldCatalog(in.lang())
	lists[0], ds = r.sides[0].listOf(in, c, ds, was)
	if len(was.steps) != len(c.Changed) || ds.HasErrors() { // it was compiled without sharing
		c = incremental.Shared{}
	}
	c, more := r.shared.NewCatalog(in.lang(), c)
	if c.From != nil {
		r.taken++
	}
	lists[1], more = r.sides[1].listOf(in, c, more, &outcome{was: was})
	return lists, append(ds, more...)
}
