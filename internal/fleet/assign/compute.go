package assign

import (
	"cmp"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// decision is what was thought of one target.
type decision struct {
	target fleet.Target
	was    *fleet.Assignment
	want   *fleet.Assignment // nil: it gets nothing new whatever it has
	asked  *fleet.Assignment // what the branch that all follow says of it; nil: nothing, or nobody knows
	pins   []fleet.Pin       // in force, that of the whole target first, then by module
	kept   string            // why it stays with what it has; "" when it does not have to
	frozen string
	grant  string // what Grant said
	issued uint64 // the new generation, 0 for none
}

// thought is what is kept of a decision, to tell why: a hub has one of each target, so it
// has no more than is told.
type thought struct {
	name     string
	standing fleet.Standing
	labels   map[string]string
	// epoch and generation are what it had, 0 for no assignment.
	epoch, generation uint64
	modules           []fleet.Assigned // it is to have
	pins              []fleet.Pin
	kept              string
	frozen            string
	grant             string
	issued            uint64
}

func (d *decision) thought() thought {
	t := thought{name: d.target.Name, standing: d.target.Standing, labels: d.target.Labels, pins: d.pins, kept: d.kept, frozen: d.frozen, grant: d.grant, issued: d.issued}
	if d.was != nil {
		t.epoch, t.generation = d.was.Epoch, d.was.Generation
	}
	if d.want != nil {
		t.modules = d.want.Modules
	}
	return t
}

// keep leaves a target with what it has.
func (d *decision) keep(why string) {
	d.kept, d.want = why, nil
	if d.was != nil {
		same := *d.was
		d.want = &same
	}
}

// computing is one Compute under way.
type computing struct {
	in      Input
	digest  string      // of the enrolled targets
	all     []*decision // by name
	active  int
	alarms  alarms
	next    int64
	epoch   uint64
	lists   map[listKey][]fleet.Assigned
	tops    map[string]fleet.Assigned // by ref
	carried map[carriedKey][]fleet.Assigned
	pinsOf  map[fleet.TargetID][]fleet.Pin
	freezes []Freeze
	// binaryOf has those that somebody said a program for.
	binaryOf map[fleet.TargetID]*fleet.Binary
	given    givens
}

// Compute decides what is to be done. The same input gives the same output, in whatever
// order its slices are.
func Compute(in Input) Output {
	if in.Grant == nil {
		in.Grant = AtOnce
	}
	c := &computing{in: in, digest: EnrolledDigest(in.Targets), lists: map[listKey][]fleet.Assigned{}, tops: map[string]fleet.Assigned{}, carried: map[carriedKey][]fleet.Assigned{}, pinsOf: map[fleet.TargetID][]fleet.Pin{}}
	c.targets()
	c.readPins()
	c.boundPins()
	c.readFreezes()
	c.binaries()
	c.branch()
	for _, d := range c.all {
		c.decide(d)
	}
	c.guard()
	out := Output{in: Input{Epoch: in.Epoch, Branch: in.Branch, Refs: in.Refs, Revisions: in.Revisions}, thoughts: make(map[fleet.TargetID]thought, len(c.all))}
	for _, d := range c.all {
		if a, ok := c.issue(d); ok {
			out.Assignments = append(out.Assignments, a)
		}
		out.thoughts[d.target.ID] = d.thought()
	}
	out.Alarms, out.Epoch, out.Next = c.alarms.sorted(), c.epoch, c.next
	return out
}

// targets puts the registry in order, and finds what contradicts it.
func (c *computing) targets() {
	names, known := map[string][]fleet.TargetID{}, map[fleet.TargetID]bool{}
	for _, t := range c.in.Targets {
		d := &decision{target: t}
		if was, ok := c.in.Previous[t.ID]; ok {
			d.was = &was
		}
		c.all = append(c.all, d)
		known[t.ID] = true
		if t.Standing == fleet.Active {
			c.active++
			names[t.Name] = append(names[t.Name], t.ID)
		}
	}
	slices.SortFunc(c.all, func(a, b *decision) int {
		return cmp.Or(cmp.Compare(a.target.Name, b.target.Name), cmp.Compare(a.target.ID, b.target.ID))
	})
	for _, d := range c.all {
		if t := d.target; t.Standing == fleet.Active && len(names[t.Name]) > 1 {
			d.keep("another target is called " + t.Name + " as well")
			c.alarms.add(SameName, t.ID, "Several targets are called %s, so none of them gets anything new. Retire all but one.", t.Name)
		}
	}
	for id, a := range c.in.Previous {
		if !known[id] && a.Withdrawn == "" {
			c.alarms.add(Unknown, id, "Targets have assignments and are not in the registry. They keep what they have; a registry that was lost comes back as agents connect.")
		}
	}
}

// at notes that something begins or ends by the clock.
func (c *computing) at(moment int64) {
	if moment > c.in.Now && (c.next == 0 || moment < c.next) {
		c.next = moment
	}
}

// decide finds what one target is to be.
func (c *computing) decide(d *decision) {
	switch {
	case d.target.Standing == fleet.Retired || d.target.Standing == fleet.Revoked:
		d.withdraw()
		return
	case d.target.Standing != fleet.Active:
		d.kept = "nobody has approved it yet"
		return
	}
	if d.kept == "" && d.target.Cloned() {
		d.keep("several hosts have its identity")
		c.alarms.add(Cloned, d.target.ID, "Several hosts have the identity of one target: it was cloned. None of them is trusted until an operator decides. See: fettle target show NAME")
	}
	if d.kept == "" {
		if want, why := c.wanted(d); why != "" {
			d.keep(why)
		} else {
			d.want = &want
			if want.Top.Rollout != PinRollout {
				asked := want
				d.asked = &asked
			}
		}
	}
	d.frozen = c.frozen(d.target.ID)
	if d.want == nil || d.want.Withdrawn != "" {
		return
	}
	if d.frozen != "" && d.kept == "" && d.was != nil && d.was.Withdrawn == "" {
		d.keep("it is frozen: " + d.frozen)
	}
	d.want.Frozen = d.frozen
}

// withdraw takes all from a target that is not one of the fleet any more.
func (d *decision) withdraw() {
	d.kept = "it is " + string(d.target.Standing)
	if d.was == nil || d.was.Withdrawn != "" {
		return
	}
	d.want = &fleet.Assignment{Format: fleet.AssignmentFormat, Target: d.target.ID, Name: d.target.Name, Top: d.was.Top,
		Modules: []fleet.Assigned{}, Withdrawn: "the target is " + string(d.target.Standing)}
}

// issue gives the next generation to a target that is to become something else.
func (c *computing) issue(d *decision) (fleet.Assignment, bool) {
	if d.want == nil {
		return fleet.Assignment{}, false
	}
	give := *d.want
	if give.Withdrawn == "" && d.kept == "" && (d.was == nil || !give.Same(*d.was)) {
		give, d.grant = c.in.Grant(d.was, give)
	}
	floor := c.in.MinimumGenerations[d.target.ID]
	old := fleet.Have{}
	if d.was != nil {
		old = fleet.Have{Epoch: d.was.Epoch, Generation: d.was.Generation}
	}
	behind := above(floor, old)
	if d.was != nil && !behind && (give.Same(*d.was) || c.damped(d, give)) {
		return fleet.Assignment{}, false
	}
	if behind {
		old = floor
	}
	if old.Epoch > c.in.Epoch {
		c.epoch = max(c.epoch, old.Epoch+1)
		c.alarms.add(Behind, d.target.ID, "Agents have assignments of an epoch that this hub has not reached: its store is an old one. It has to begin the epoch after theirs before it can assign them anything.")
		return fleet.Assignment{}, false
	}
	give.Epoch, give.Generation, give.Issued = c.in.Epoch, 1, c.in.Now
	if old.Epoch == c.in.Epoch {
		give.Generation = old.Generation + 1
	}
	d.issued = give.Generation
	return give, true
}

// above tells whether an agent has more than a hub gave.
func above(floor, old fleet.Have) bool {
	return cmp.Or(cmp.Compare(floor.Epoch, old.Epoch), cmp.Compare(floor.Generation, old.Generation)) > 0
}

// readFreezes finds the freezes that are in force.
func (c *computing) readFreezes() {
	for _, f := range c.in.Freezes {
		c.at(f.From)
		if f.Until != 0 {
			c.at(f.Until)
		}
		if f.InForce(c.in.Now) {
			c.freezes = append(c.freezes, f)
		}
	}
	slices.SortFunc(c.freezes, func(a, b Freeze) int {
		return cmp.Or(cmp.Compare(min(len(a.Targets), 1), min(len(b.Targets), 1)), cmp.Compare(a.Key, b.Key))
	})
}

// frozen is why a target is frozen, "" when it is not. A target is frozen as long as one freeze
// applies to it; the reason of a freeze of the whole fleet is the one that is shown.
func (c *computing) frozen(id fleet.TargetID) string {
	for _, f := range c.freezes {
		if len(f.Targets) > 0 && !slices.Contains(f.Targets, id) {
			continue
		}
		why := cmp.Or(f.Reason, "frozen")
		if f.By != "" {
			why = fmt.Sprintf("%s (%s)", why, f.By)
		}
		return why
	}
	return ""
}
