package apply

import (
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// Status is how far one change is.
type Status uint8

const (
	// Do: it has not begun.
	Do Status = iota
	// Done: it took effect, or had nothing to do.
	Done
	// Failed: it was tried and did not take effect.
	Failed
	// Skipped: it was not needed after all.
	Skipped
	// Undone: it took effect and was undone.
	Undone
	// Stuck: it took effect and could not be undone.
	Stuck
	// Barred: it is not reached, for it is in a block that failed and was rescued,
	// or comes after one.
	Barred
)

func (s Status) String() string {
	return [...]string{"to do", "done", "failed", "skipped", "undone", "could not be undone", "not reached"}[s]
}

// Op is what to do next.
type Op uint8

const (
	// OpEnd: nothing is left to do in this direction.
	OpEnd Op = iota
	// OpRecord: only the record changes (adopt, forget, reported drift).
	OpRecord
	// OpPaths: a batch of path moves.
	OpPaths
	// OpGroup: steps of one transaction.
	OpGroup
	// OpMove: one step that is no path.
	OpMove
	// OpAct: a lazy action.
	OpAct
	// OpWait: a wait for what others do.
	OpWait
	// OpCheck: a verification.
	OpCheck
)

// Limits of a batch of path moves: so many changes, so many staged bytes.
const (
	batchChanges = 16384
	batchBytes   = 64 << 20
)

// Machine decides what comes next in a run. It is pure: no clock, no input or
// output. The runner does what Next says and tells it with Set how it went.
type Machine struct {
	changes []plan.Change
	steps   []step.Step // parsed once, by index
	status  []Status
	trees   map[string]bool           // paths that come back with all that is below
	sizes   func(digest string) int64 // of content that is to be staged
	Back    bool                      // the run is being undone
	rescues []rescue                  // of blocks
	out     map[addr.Addr]bool        // what blocks that failed keep from being reached
}

// NewMachine starts with everything to do. list says which blocks are rescued;
// sizes tells how many bytes a digest stands for.
func NewMachine(p *plan.Plan, list step.List, sizes func(string) int64) *Machine {
	m := &Machine{changes: p.Changes, status: make([]Status, len(p.Changes)), sizes: sizes, trees: map[string]bool{}, rescues: rescuesOf(list), out: map[addr.Addr]bool{}}
	for _, c := range p.Changes {
		m.steps = append(m.steps, stepOf(c))
		if c.To != nil && c.To.File != nil && c.To.File.Tree != "" {
			m.trees[c.Addr.Path()] = true
		}
	}
	return m
}

// stepOf is the step that a change is about: the wanted one, else the one that
// is undone.
func stepOf(c plan.Change) step.Step {
	line := c.Step
	if line == "" {
		line = c.Applied
	}
	l, _ := step.Parse("", []byte(line))
	if len(l) != 1 {
		return step.Step{}
	}
	l[0].Source = c.Source
	return l[0]
}

// Set tells how a change went.
func (m *Machine) Set(i int, s Status) { m.status[i] = s }

// Status tells how far a change is.
func (m *Machine) Status(i int) Status { return m.status[i] }

// Step is the step that change i is about.
func (m *Machine) Step(i int) step.Step { return m.steps[i] }

// Next gives the next operation and the changes it is about: forward, those to
// do in plan order; backward, those done in reverse. One call's changes may be
// worked on together.
func (m *Machine) Next() (Op, []int) {
	if m.Back {
		return m.group(slices.Backward(m.changes), Done)
	}
	return m.group(slices.All(m.changes), Do)
}

func (m *Machine) group(order func(func(int, plan.Change) bool), which Status) (op Op, out []int) {
	var b batch
	for i := range order {
		if len(out) > 0 && op == OpGroup {
			switch m.opOf(i) {
			case OpGroup:
			case OpRecord:
				continue // it changes nothing, so it parts nothing
			default:
				return op, out // done or not: both ways it is the same transaction
			}
		}
		if m.status[i] != which {
			continue
		}
		next := m.opOf(i)
		if len(out) > 0 && (next != op || !m.joins(&b, op, i)) {
			return op, out
		}
		if len(out) == 0 {
			op = next
			m.joins(&b, op, i)
		}
		out = append(out, i)
		if op == OpMove || op == OpAct || op == OpWait || op == OpCheck || op == OpPaths && m.alone(i) {
			return op, out
		}
	}
	return op, out
}

func (m *Machine) opOf(i int) Op {
	c := m.changes[i]
	if !c.Action.Mutates() && c.Action != plan.Verify && c.Action != plan.Wait {
		return OpRecord
	}
	switch c.Addr.Kind() {
	case addr.KindAct:
		return OpAct
	case addr.KindWait:
		return OpWait
	case addr.KindCheck:
		return OpCheck
	case addr.KindFile, addr.KindMeta, addr.KindEdit:
		return OpPaths
	case addr.KindPkg:
		return OpGroup
	}
	return OpMove
}

// alone tells whether a path change must be a batch by itself: one whose file
// is validated in its place.
func (m *Machine) alone(i int) bool { return m.steps[i].Get("validate") != "" }

// batch is what a batch of paths holds so far.
type batch struct {
	paths map[string]bool // true: a directory that is new here
	above map[string]bool // what the paths are below
	trees map[string]bool // what the paths are below that go with everything in them
	n     int
	bytes int64
}

// joins tells whether change i may join the batch, and takes it in.
func (m *Machine) joins(b *batch, op Op, i int) bool {
	if op != OpPaths {
		return op == OpGroup || op == OpRecord
	}
	p := m.changes[i].Addr.Path()
	size := int64(0)
	if to := m.changes[i].To; to != nil && to.File != nil && m.sizes != nil {
		size = m.sizes(to.File.Digest)
	}
	if b.paths == nil {
		b.paths, b.above, b.trees = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	if b.trees[p] {
		return false
	}
	if b.n > 0 {
		if _, twice := b.paths[p]; twice || m.alone(i) || b.n >= batchChanges || b.bytes+size > batchBytes || b.below(p) || b.above[p] && (m.replaces(i) || !m.staysDirectory(i)) {
			return false
		}
	}
	for d := path.Dir(p); d != "/" && d != "." && !b.above[d]; d = path.Dir(d) {
		b.above[d] = true
	}
	if !m.Back && takesWhole(m.changes[i], m.steps[i]) { // it is beside its path until the batch ends
		for d := path.Dir(p); d != "/" && d != "." && !b.trees[d]; d = path.Dir(d) {
			b.trees[d] = true
		}
	}
	b.paths[p] = m.newDirectory(i)
	b.n++
	b.bytes += size
	return true
}

// below tells whether something on the way to p changes in this batch other
// than by being made: then what is below has to wait for it.
func (b *batch) below(p string) bool {
	for d := path.Dir(p); d != "/" && d != "."; d = path.Dir(d) {
		if fresh, ok := b.paths[d]; ok {
			if !fresh {
				return true
			}
		}
	}
	return false
}

// replaces tells whether a change puts something in the place of a directory,
// which it can see to be empty only when what was in it has gone.
func (m *Machine) replaces(i int) bool {
	return !m.Back && m.changes[i].Action != plan.Remove && m.steps[i].Verb != step.Mkdir
}

// staysDirectory tells whether a change has nothing but a directory, or nothing
// at all, at its path on either side: then paths below it never lead elsewhere.
// A tree is more than that: what is below is a part of it, and has to be settled
// before the whole is compared.
func (m *Machine) staysDirectory(i int) bool {
	plain := func(img *image.Image) bool {
		return img != nil && img.File != nil && img.File.Tree == "" && (img.File.Type == image.Absent || img.File.Type == image.Directory)
	}
	return plain(m.changes[i].From) && plain(m.changes[i].To)
}

// fromTree tells whether the path, or a directory that it is in, comes back whole
// in this run: what is there then, nobody knows before.
func (m *Machine) fromTree(p string) bool {
	for ; len(m.trees) > 0 && p != "/" && p != "."; p = path.Dir(p) {
		if m.trees[p] {
			return true
		}
	}
	return false
}

func (m *Machine) newDirectory(i int) bool {
	c := m.changes[i]
	return !m.Back && m.steps[i].Verb == step.Mkdir && c.Action != plan.Remove &&
		c.From != nil && c.From.File != nil && (c.From.File.Type == "absent" || c.From.File.Type == "dir") &&
		!m.fromTree(c.Addr.Path())
}
