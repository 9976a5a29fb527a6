package plan

import (
	"fettle.dev/fettle/internal/step"
)

// order sorts the changes of a rollback where paths depend on each other. An object is restored after the
// directories above it, and a directory that must be empty is removed or replaced after the objects in it. All
// other changes keep their order.
type order struct {
	changes []Change
	made    map[string]int // the change that makes a directory, by its path
	emptied map[string]int // the last change that removes an object in a directory, by its path
	waiting map[int][]int  // the changes that wait for a change
	placed  []bool
	out     []Change
}

// inOrder returns the changes of a rollback in an order in which each of them can be made.
func inOrder(changes []Change) []Change {
	o := &order{changes: changes, made: map[string]int{}, emptied: map[string]int{}, waiting: map[int][]int{},
		placed: make([]bool, len(changes))}
	for i, c := range changes {
		if !c.Action.Mutates() || !isPath(c.Addr) {
			continue
		}
		if c.To != nil && isDirectory(c.To.File()) && !(c.From != nil && isDirectory(c.From.File())) {
			o.made[c.Addr.Path()] = i
		}
		if removesObject(c) {
			for d := range parents(c.Addr.Path()) {
				o.emptied[d] = i
			}
		}
	}
	for i := range changes {
		o.place(i)
	}
	return o.out
}

// place adds a change to the result, or delays it until the change that it needs is there.
func (o *order) place(i int) {
	if need, waits := o.needs(i); waits {
		o.waiting[need] = append(o.waiting[need], i)
		return
	}
	o.placed[i] = true
	o.out = append(o.out, o.changes[i])
	for _, k := range o.waiting[i] {
		o.place(k)
	}
}

// needs returns a change that is not in the result yet and that must precede a change.
func (o *order) needs(i int) (need int, waits bool) {
	c := o.changes[i]
	if !c.Action.Mutates() || !isPath(c.Addr) {
		return 0, false
	}
	p := c.Addr.Path()
	if endsDirectory(c) {
		if last, known := o.emptied[p]; known && !o.placed[last] {
			return last, true
		}
	}
	if removesObject(c) {
		return 0, false
	}
	for d := range parents(p) {
		if up, known := o.made[d]; known && !o.placed[up] {
			return up, true
		}
	}
	return 0, false
}

// endsDirectory reports whether a change removes or replaces a directory that must be empty. A directory that was
// removed with all its content needs no order.
func endsDirectory(c Change) bool {
	return c.From != nil && c.To != nil && isDirectory(c.From.File()) && c.To.File() != nil && !isDirectory(c.To.File()) &&
		c.StepOrApplied().Verb == step.Mkdir
}

// removesObject reports whether a change removes the object at its path.
func removesObject(c Change) bool {
	if c.From == nil || c.To == nil {
		return false
	}
	if c.To.Region() != nil {
		return c.To.Region().FileAbsent && !c.To.Region().Present
	}
	return exists(c.From.File()) && c.To.File() != nil && c.To.Absent()
}
