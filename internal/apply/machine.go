package apply

import (
	"path"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
)

// Status is the progress of one change.
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
	// Barred: it does not run, because it is in or after a block that failed and was rescued.
	Barred
)

func (s Status) String() string {
	return [...]string{"to do", "done", "failed", "skipped", "undone", "could not be undone", "not reached"}[s]
}

// Op is the next operation of a run.
type Op uint8

const (
	// OpEnd: there is nothing left to do in this direction.
	OpEnd Op = iota
	// OpRecord: a change of the record only (adopt, forget, reported drift).
	OpRecord
	// OpPaths: a batch of path moves.
	OpPaths
	// OpGroup: steps of one transaction.
	OpGroup
	// OpMove: one step that does not change a path.
	OpMove
	// OpAct: a lazy action.
	OpAct
	// OpWait: a WAIT step.
	OpWait
	// OpCheck: a verification.
	OpCheck
)

// Limits of a batch of path moves: number of changes, and staged bytes.
const (
	batchChanges = 16384
	batchBytes   = 64 << 20
)

// Machine decides the next operation of a run. It is pure: no clock, no input, no output. The runner
// executes the operation from Next and reports the result with Set.
type Machine struct {
	changes []plan.Change
	steps   []step.Step // by index
	status  []Status
	trees   map[string]bool           // paths that are restored with all content below
	sizes   func(digest string) int64 // size in bytes of the content to stage
	Back    bool                      // the run is being undone
	rescues []rescue                  // of blocks
	out     map[addr.Addr]bool        // addresses that a failed and rescued block excludes
}

// NewMachine returns a machine in which no change has begun. list defines the rescued blocks; sizes
// returns the number of bytes of a digest.
func NewMachine(p *plan.Plan, list step.List, sizes func(string) int64) *Machine {
	m := &Machine{changes: p.Changes, status: make([]Status, len(p.Changes)), sizes: sizes,
		trees: map[string]bool{}, rescues: rescuesOf(list), out: map[addr.Addr]bool{}}
	for _, c := range p.Changes {
		m.steps = append(m.steps, stepOf(c))
		if c.To != nil && c.To.File() != nil && c.To.File().Tree != "" {
			m.trees[c.Addr.Path()] = true
		}
	}
	return m
}

// stepOf returns the step of a change: the desired one, or otherwise the one to undo.
func stepOf(c plan.Change) step.Step {
	s := c.StepOrApplied()
	s.Source = c.Source
	return s
}

// Set records the result of a change.
func (m *Machine) Set(i int, s Status) { m.status[i] = s }

// Status returns the progress of a change.
func (m *Machine) Status(i int) Status { return m.status[i] }

// Step returns the step of change i.
func (m *Machine) Step(i int) step.Step { return m.steps[i] }

// Next returns the next operation and the indexes of its changes. Forward, these are changes to make,
// in plan order; backward, changes to undo, in reverse order. The changes of one call can be executed
// as one batch.
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
				continue // it changes nothing, so it does not end the batch
			default:
				return op, out // already done or not, it belongs to the same transaction
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

// alone reports whether a path change needs a batch of its own, because the file is validated at its
// final path.
func (m *Machine) alone(i int) bool { return m.steps[i].Get("validate") != "" }

// batch collects path changes for one operation.
type batch struct {
	paths map[string]bool // true: the batch creates this directory
	above map[string]bool // the directories above the paths
	trees map[string]bool // paths that move with their whole content
	n     int
	bytes int64
}

// joins adds change i to the batch, and reports whether that is possible.
func (m *Machine) joins(b *batch, op Op, i int) bool {
	if op != OpPaths {
		return op == OpGroup || op == OpRecord
	}
	p := m.changes[i].Addr.Path()
	size := int64(0)
	if to := m.changes[i].To; to != nil && to.File() != nil && m.sizes != nil {
		size = m.sizes(to.File().Digest)
	}
	if b.paths == nil {
		b.paths, b.above, b.trees = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	if b.trees[p] {
		return false
	}
	if b.n > 0 {
		_, twice := b.paths[p]
		if twice || m.alone(i) || b.n >= batchChanges || b.bytes+size > batchBytes || b.below(p) ||
			b.above[p] && (m.replaces(i) || !m.staysDirectory(i)) {
			return false
		}
	}
	for d := path.Dir(p); d != "/" && d != "." && !b.above[d]; d = path.Dir(d) {
		b.above[d] = true
	}
	if !m.Back && takesWhole(m.changes[i], m.steps[i]) { // it stays next to its path until the batch ends
		for d := path.Dir(p); d != "/" && d != "." && !b.trees[d]; d = path.Dir(d) {
			b.trees[d] = true
		}
	}
	b.paths[p] = m.newDirectory(i)
	b.n++
	b.bytes += size
	return true
}

// below reports whether the batch changes a directory above p, other than by creating it. Changes
// below such a directory must wait for the next batch.
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

// replaces reports whether a change replaces a directory. It can detect that the directory is empty
// only after its entries are removed.
func (m *Machine) replaces(i int) bool {
	return !m.Back && m.changes[i].Action != plan.Remove && m.steps[i].Verb != step.Mkdir
}

// staysDirectory reports whether the path of a change is only a directory or absent, before and after.
// Then paths below it always lead to the same place. A stored tree does not qualify: the paths below
// are a part of it and must be changed before the whole is compared.
func (m *Machine) staysDirectory(i int) bool {
	plain := func(img *image.Image) bool {
		return img != nil && img.File() != nil && img.File().Tree == "" &&
			(img.File().Type == image.Absent || img.File().Type == image.Directory)
	}
	return plain(m.changes[i].From) && plain(m.changes[i].To)
}

// fromTree reports whether this run restores a whole tree that contains the path. Its content is
// unknown before the restore.
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
		c.From != nil && c.From.File() != nil && (c.From.File().Type == "absent" || c.From.File().Type == "dir") &&
		!m.fromTree(c.Addr.Path())
}

func addrs(in []string) []addr.Addr {
	out := make([]addr.Addr, len(in))
	for i, a := range in {
		out[i] = addr.Addr(a)
	}
	return out
}

// takesWhole reports whether the directory at the path is removed with all of its content.
func takesWhole(c plan.Change, s step.Step) bool {
	if c.To != nil && c.To.File() != nil && (c.Action == plan.Remove || c.Action == plan.Restore) && s.Verb != step.Meta {
		switch c.To.File().Type {
		case image.Directory:
			return c.To.File().Tree != ""
		case image.Absent:
			return s.Verb == step.Rm || c.Action == plan.Restore && s.Verb != step.Mkdir
		}
		return true
	}
	return s.Verb == step.Rm || c.Action == plan.Purge || c.Action == plan.Restore && (s.Verb == step.Copy || s.Verb == step.Link)
}

// rescue is an action that rescues a block: if it succeeds after a failure in the block, the run
// continues with the states that are neither in the block nor after it.
type rescue struct {
	block string
	act   addr.Addr
	in    map[addr.Addr]bool
	out   []addr.Addr // addresses in the block and after it
}

func rescuesOf(list step.List) []rescue {
	var all []rescue
	for _, s := range list {
		block, ok := s.Lookup("rescue")
		if !ok || s.Verb != step.Act {
			continue
		}
		r := rescue{block: block, act: s.Addr(), in: map[addr.Addr]bool{}, out: addrs(s.All("on_failure"))}
		for _, a := range r.out {
			r.in[a] = true
		}
		r.out = append(r.out, addrs(s.All("behind"))...)
		all = append(all, r)
	}
	return all
}
