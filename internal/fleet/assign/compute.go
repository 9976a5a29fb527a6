package assign

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/window"
)

// decision is the state of the computation for one target.
type decision struct {
	target fleet.Target
	was    *fleet.Assignment
	want   *fleet.Assignment // the new assignment; nil: no assignment
	asked  *fleet.Assignment // the assignment by the fleet's branch; nil: none or unknown
	// strategy is the name of the strategy of asked.
	strategy string
	windows  []window.Window
	pins     []fleet.Pin // pins in force: the pin of the whole target first, then by module
	kept     string      // why the target keeps its assignment, or ""
	closed   string      // why its windows allow no change except a return, or ""
	frozen   string
	grant    string // the reason that Grant returned
	waits    bool   // Grant held a part back; granted is the rest
	granted  []fleet.Assigned
	issued   uint64 // the new generation, or 0
}

func (d *decision) thought() thought {
	t := thought{name: d.target.Name, standing: d.target.Standing, labels: d.target.Labels, pins: d.pins,
		kept:   d.kept,
		frozen: d.frozen, grant: d.grant, waits: d.waits, issued: d.issued}
	if d.waits {
		t.kept = cmp.Or(d.kept, d.closed)
	}
	if d.was != nil {
		t.epoch, t.generation = d.was.Epoch, d.was.Generation
	}
	if d.want != nil {
		t.modules = d.want.Modules
	}
	if d.waits {
		t.modules = d.granted
	}
	return t
}

// keep leaves the previous assignment of a target unchanged.
func (d *decision) keep(why string) {
	d.kept, d.want = why, nil
	if d.was != nil {
		same := *d.was
		d.want = &same
	}
}

// computation is the state of one Compute.
type computation struct {
	in     Input
	digest string      // of the enrolled targets
	all    []*decision // by name
	active int
	alarms alarms
	next   int64
	epoch  uint64
	tops   map[string]fleet.Assigned // by ref
	*shared
	pinsOf  map[fleet.TargetID][]fleet.Pin
	freezes []Freeze
	// environmentOf contains the targets in environments that operators created.
	environmentOf map[fleet.TargetID]Environment
	outside       map[string]outsideTests // by ref
	// binaryOf contains the desired binary of agents that have one.
	binaryOf map[fleet.TargetID]*fleet.Binary
	given    givens
	grant    Grant
	windows  windowStates
	readable readableWindows
	exempt   exemptions
	// replacements are in force if the head of the branch has the held content.
	replacements map[heldKey]replaced
	declared     Versions                // the result of versions
	heads        []map[string]Configured // targets with their strategies, see strategy
}

// Compute computes new assignments and alarms. The output depends only on the input, and not on the
// order in its slices.
func Compute(in Input) Output {
	c := &computation{in: in, digest: in.enrolled(), shared: in.shared.begin(len(in.Replacements) > 0),
		tops: map[string]fleet.Assigned{}, pinsOf: map[fleet.TargetID][]fleet.Pin{}, windows: windowStates{},
		readable: readableWindows{}, outside: map[string]outsideTests{}}
	c.targets()
	c.readPins()
	c.readEnvironments()
	c.boundPins()
	c.readFreezes()
	c.exempt = readExemptions(c.in.Exemptions, c.in.Now, &c.alarms, c.at)
	c.binaries()
	c.branch()
	c.replacements = readReplacements(c.in, &c.alarms)
	for _, d := range c.all {
		c.decide(d)
	}
	c.guard()
	c.plan()
	out := Output{in: Input{Epoch: in.Epoch, Branch: in.Branch, Refs: in.Refs, Revisions: in.Revisions},
		thoughts: make(map[fleet.TargetID]*thought, len(c.all)), replacements: c.replacements}
	thoughts := make([]thought, len(c.all)) // one large allocation is cheaper than one for each target
	for i, d := range c.all {
		if a, ok := c.issue(d); ok {
			out.Assignments = append(out.Assignments, a)
		}
		thoughts[i] = d.thought()
		out.thoughts[d.target.ID] = &thoughts[i]
	}
	out.Alarms, out.Epoch, out.Next = c.alarms.sorted(), c.epoch, c.next
	return out
}

// targets sorts the registry, and finds contradictions in it.
func (c *computation) targets() {
	// Few large allocations are cheaper than several for each target.
	n := len(c.in.Targets)
	all, previous := make([]decision, n), make([]fleet.Assignment, n)
	c.all = make([]*decision, 0, n)
	assigned := 0
	for i := range c.in.Targets {
		d := &all[i]
		d.target = c.in.Targets[i]
		if was, ok := c.in.Previous[d.target.ID]; ok {
			previous[i] = was
			d.was = &previous[i]
			assigned++
		}
		c.all = append(c.all, d)
		if d.target.Standing == fleet.Active {
			c.active++
		}
	}
	slices.SortFunc(c.all, func(a, b *decision) int { return compareTargets(&a.target, &b.target) })
	c.sameNames()
	if assigned < len(c.in.Previous) {
		c.unregistered()
	}
}

// sameNames finds active targets with the same name.
func (c *computation) sameNames() {
	var last *decision
	for _, d := range c.all {
		if d.target.Standing != fleet.Active {
			continue
		}
		if last != nil && last.target.Name == d.target.Name {
			c.sameName(last)
			c.sameName(d)
		}
		last = d
	}
}

func (c *computation) sameName(d *decision) {
	d.keep("another active target has the name " + d.target.Name + ", too")
	c.alarms.addOf(SameName, d.target,
		"Several active targets have the name %s, so their assignments do not change. Retire all but one: fettle target retire",
		d.target.Name)
}

// unregistered finds assignments of targets that are not in the registry.
func (c *computation) unregistered() {
	known := map[fleet.TargetID]bool{}
	for _, d := range c.all {
		known[d.target.ID] = true
	}
	for id, a := range c.in.Previous {
		if !known[id] && a.Withdrawn == "" {
			c.alarms.add(UnregisteredTarget, id,
				"Targets have assignments, but no entry in the registry. They keep their assignments. If the registry was lost, the hub restores the entries when agents connect.")
		}
	}
}

// at sets the time of the next computation, if it is the earliest.
func (c *computation) at(moment int64) {
	if moment > c.in.Now && (c.next == 0 || moment < c.next) {
		c.next = moment
	}
}

// decide computes the desired assignment of one target.
func (c *computation) decide(d *decision) {
	switch {
	case d.target.Standing == fleet.Retired || d.target.Standing == fleet.Revoked:
		d.withdraw()
		return
	case d.target.Standing != fleet.Active:
		d.kept = "it waits for approval"
		return
	}
	if d.kept == "" && d.target.Cloned() {
		d.keep("several hosts have its identity")
		c.alarms.addOf(Cloned, d.target,
			"Several hosts have the identity of one target: it was cloned. None of them is trusted until an operator decides. See: fettle target show NAME")
	}
	if d.kept == "" {
		if want, why := c.wanted(d); why != "" {
			d.keep(why)
		} else {
			d.want = &want
			d.closed = c.isClosed(d)
			if want.Root.Rollout != PinRollout {
				d.asked, d.strategy = d.want, c.strategy(d)
				if why := spreads(c.replacements, want, d.was); why != "" {
					d.keep(why)
				}
			}
		}
	}
	d.frozen = c.frozen(d.target)
	if d.want == nil || d.want.Withdrawn != "" {
		return
	}
	if d.frozen != "" && d.kept == "" && d.was != nil && d.was.Withdrawn == "" {
		d.keep("it is frozen: " + d.frozen)
	}
	if d.frozen != "" {
		frozen := *d.want // not asked
		frozen.Frozen = d.frozen
		d.want = &frozen
	}
}

// isClosed returns the reason why the windows of a target allow no change now, or "". The first assignment of a
// target does not wait for a window. The computation is repeated when a window opens or closes.
func (c *computation) isClosed(d *decision) string {
	if d.want == nil || len(d.windows) == 0 || d.was == nil || d.was.Withdrawn != "" {
		return ""
	}
	state := c.windows.at(d.windows, c.in.Zones[d.target.ID], c.in.Now)
	if !state.Until.IsZero() {
		c.at(state.Until.Unix())
	}
	return state.Why
}

// outside returns the assignment of a target whose windows are closed. A grant without windows is a
// return to earlier content, which does not wait.
func (d *decision) outside(give fleet.Assignment) fleet.Assignment {
	if len(give.Windows) == 0 && len(d.want.Windows) > 0 {
		return give
	}
	same := *d.was
	same.Frozen, same.TestsFor = d.frozen, d.want.TestsFor // tests change nothing on the host
	return same
}

// withdraw withdraws the assignment of a target that has left the fleet.
func (d *decision) withdraw() {
	d.kept = "it is " + string(d.target.Standing)
	if d.was == nil || d.was.Withdrawn != "" {
		return
	}
	d.want = &fleet.Assignment{Format: fleet.AssignmentFormat, Target: d.target.ID, Name: d.target.Name, Root: d.was.Root,
		Modules: []fleet.Assigned{}, Withdrawn: "the target is " + string(d.target.Standing)}
}

// issue returns the new assignment with the next generation, if the target needs one.
func (c *computation) issue(d *decision) (fleet.Assignment, bool) {
	if d.want == nil {
		return fleet.Assignment{}, false
	}
	give := *d.want
	if give.Withdrawn == "" && d.kept == "" && (c.in.Plan != nil || d.was == nil || !give.Same(*d.was)) {
		if give, d.grant = c.grant(d.was, give); give.Target == "" {
			return fleet.Assignment{}, false
		}
		if d.closed != "" {
			if kept := d.outside(give); !kept.Same(give) {
				give, d.grant = kept, "" // the window is the reason
			}
		}
		if d.waits = !give.Same(*d.want); d.waits {
			d.granted = give.Modules
		}
	}
	c.explain(d)
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
		c.alarms.addOf(Behind, d.target,
			"Agents have assignments of a later epoch than this hub: the store of the hub is outdated. The hub begins a new epoch, and then assigns again.")
		return fleet.Assignment{}, false
	}
	give.Epoch, give.Generation, give.Issued = c.in.Epoch, 1, c.in.Now
	if old.Epoch == c.in.Epoch {
		give.Generation = old.Generation + 1
	}
	d.issued = give.Generation
	return give, true
}

// explain finds the reason of the rollout for a target that also has another reason to wait, such as a freeze.
func (c *computation) explain(d *decision) {
	if d.kept == "" || d.asked == nil || c.in.Plan == nil {
		return
	}
	if give, why := c.grant(d.was, *d.asked); !give.Same(*d.asked) {
		d.grant = why
	}
}

// above reports whether an agent has a newer assignment than the hub issued.
func above(floor, old fleet.Have) bool {
	return cmp.Or(cmp.Compare(floor.Epoch, old.Epoch), cmp.Compare(floor.Generation, old.Generation)) > 0
}

// readFreezes finds the freezes in force.
func (c *computation) readFreezes() {
	for _, f := range c.in.Freezes {
		c.at(f.From)
		if f.Until != 0 {
			c.at(f.Until)
		}
		if f.InForce(c.in.Now) {
			c.freezes = append(c.freezes, f)
		}
	}
	for _, l := range c.in.DeclaredLimits() {
		if l.Freeze != "" {
			c.freezes = append(c.freezes, Freeze{Key: OrganizationKey(l.Organization), Organization: l.Organization,
				Reason: l.Freeze, By: "the repository"})
		}
	}
	slices.SortStableFunc(c.freezes, func(a, b Freeze) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Key, b.Key))
	})
}

// frozen returns the reason of the freeze of a target, or "". If several freezes apply, the whole fleet has
// priority, and then the organization at the top of the path.
func (c *computation) frozen(t fleet.Target) string {
	for _, f := range c.freezes {
		if f.applies(t) {
			return f.text()
		}
	}
	return ""
}

// plan makes Grant decide. It runs after all other decisions.
func (c *computation) plan() {
	c.grant = AtOnce
	if c.in.Plan == nil {
		return
	}
	all := make([]Desired, 0, len(c.all))
	for _, d := range c.all {
		if d.target.Standing == fleet.Active {
			all = append(all, Desired{Target: d.target, Was: d.was, Want: d.asked, Strategy: d.strategy,
				Kept: cmp.Or(d.kept, d.closed), Closed: d.kept == "" && d.closed != ""})
		}
	}
	c.grant = c.in.Plan(all)
}

// strategy returns the name of the strategy of a target that follows the fleet's branch. If a rollback replaced the
// root bundle, the root bundle that replaces it selects the strategy, unless it does not know the target.
func (c *computation) strategy(d *decision) string {
	if c.heads == nil {
		head := c.in.Revisions[c.in.Refs[c.in.Branch].Commit]
		c.heads = []map[string]Configured{rootOf(head, c.replacements).Targets, head.Targets}
	}
	for _, targets := range c.heads {
		if conf, ok := targets[d.target.Name]; ok {
			return conf.Strategy
		}
	}
	return ""
}
