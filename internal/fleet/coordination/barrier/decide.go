package barrier

import (
	"fmt"
	"slices"
	"time"
)

// EventKind names an input.
type EventKind string

// Kinds of events.
const (
	Define   EventKind = "define"   // the repository declares the barrier, or other values of it
	Undefine EventKind = "undefine" // the repository no longer declares the barrier
	Arrive   EventKind = "arrive"   // a target arrives, or repeats its arrival
	Withdraw EventKind = "withdraw" // a target no longer waits
	Tick     EventKind = "tick"     // time has passed, or the members changed
)

// Event is a request, or another input of Decide.
type Event struct {
	Kind       EventKind
	Definition Definition // of Define; it must pass Check
	Target     string     // of Arrive and Withdraw
	Run        string     // of Arrive and Withdraw; it must pass CheckRun
	// Order is larger than the Order of all earlier requests of the target; 0 means unknown. An Arrive has no effect if
	// the target sent a request of another run, or a Withdraw, later.
	Order uint64
	// Members are the current members, each once. Define, Undefine and Withdraw ignore them.
	Members []Member
	// Observed is the time for which the hub has seen the arrival of each target unchanged. A clock that does not jump
	// measures it. If it is nil, only the wall clock decides whether an arrival ended.
	Observed map[string]time.Duration
	// Restored is the time at which the fleet was restored from a backup, in ms since 1970; 0 means never.
	Restored int64
}

// ChangeKind names an effect, for the log of the fleet.
type ChangeKind string

// Kinds of changes.
const (
	Defined   ChangeKind = "defined"
	Removed   ChangeKind = "undefined"
	Arrived   ChangeKind = "arrived"
	Renewed   ChangeKind = "renewed"
	Withdrawn ChangeKind = "withdrawn"
	Expired   ChangeKind = "expired" // the arrival was not repeated in time, or the target is no longer a member
	Opened    ChangeKind = "opened"
	Noted     ChangeKind = "noted" // the withdrawal of a target that did not wait
)

// Change is an effect of an event. Target is set for the effects on one arrival, and Count is the number of arrivals
// of an Opened generation.
type Change struct {
	Kind   ChangeKind
	Target string
	Count  int
}

// Refusal is the cause of an answer without success; "" means success.
type Refusal string

// Causes of refusals.
const (
	NotMember  Refusal = "not_member"
	Empty      Refusal = "empty"      // the barrier has no members
	TooMany    Refusal = "too_many"   // the barrier has more than MaxMembers members
	Undeclared Refusal = "undeclared" // the repository no longer declares the barrier
	Outdated   Refusal = "outdated"   // the target sent a later request
)

// Answer is the result of an event.
type Answer struct {
	Refused Refusal
	// Open means that the target continues, because its Generation opened.
	Open       bool
	Generation uint64
	// Arrived, Required and Counted are the arrivals of the next generation, the arrivals that open it, and the members
	// that count.
	Arrived, Required, Counted int
	Changes                    []Change
}

// Decide returns the state after an event, and the answer. now is in ms since 1970.
func Decide(s State, e Event, now int64) (State, Answer) {
	d := decision{State: s, now: now, e: e}
	d.Arrivals, d.Passes, d.Left = slices.Clone(s.Arrivals), slices.Clone(s.Passes), slices.Clone(s.Left)
	d.expire()
	switch e.Kind {
	case Define:
		d.define(e.Definition)
	case Undefine:
		if !d.Undeclared {
			d.Undeclared, d.Arrivals = true, nil
			d.change(Removed, "")
		}
	case Arrive:
		d.arrive()
	case Withdraw:
		d.withdraw()
	case Tick:
		d.open()
	}
	return d.State, d.answer
}

// decision is a state on its way to the next one.
type decision struct {
	State
	now    int64
	e      Event
	answer Answer
}

func (d *decision) change(k ChangeKind, target string) {
	d.answer.Changes = append(d.answer.Changes, Change{Kind: k, Target: target})
}

// expire removes the arrivals that ended, and the passes that are not needed any more.
func (d *decision) expire() {
	live := slices.DeleteFunc(d.Waiting(d.e.Restored), func(a Arrival) bool { return d.unchanged(a) >= ArrivalTime })
	for _, a := range d.Arrivals {
		if !slices.Contains(live, a) {
			d.change(Expired, a.Target)
		}
	}
	d.Arrivals = live
	d.Passes = slices.DeleteFunc(d.Passes, func(p Pass) bool { return d.now >= p.At+PassTime.Milliseconds() })
}

// unchanged returns the time since the last repetition of an arrival.
func (d *decision) unchanged(a Arrival) time.Duration {
	if d.e.Observed == nil {
		return time.Duration(d.now-a.Renewed) * time.Millisecond
	}
	return d.e.Observed[a.Target]
}

func (d *decision) define(want Definition) {
	if d.Undeclared || d.Name != want.Name || d.Quorum != want.Quorum || d.OfflineAfter != want.OfflineAfter ||
		d.AlarmAfter != want.AlarmAfter || !slices.Equal(d.Targets, want.Targets) {
		d.Definition, d.Undeclared = want, false
		d.change(Defined, "")
	}
}

func (d *decision) arrive() {
	e := d.e
	if d.passed() {
		return
	}
	if d.answer.Refused = d.refusal(); d.answer.Refused != "" {
		d.remove(e.Target, Expired)
		return
	}
	if d.outdated() {
		d.answer.Refused = Outdated
		return
	}
	i := slices.IndexFunc(d.Arrivals, func(a Arrival) bool { return a.Target == e.Target })
	switch {
	case i >= 0 && d.Arrivals[i].Run == e.Run:
		if a := &d.Arrivals[i]; d.unchanged(*a) >= RenewTime {
			a.Renewed = d.now
			a.Beat++
			a.Order = max(a.Order, e.Order)
			d.change(Renewed, e.Target)
		}
	default:
		d.Arrivals = slices.DeleteFunc(d.Arrivals, func(a Arrival) bool { return a.Target == e.Target })
		d.Arrivals = append(d.Arrivals, Arrival{Target: e.Target, Run: e.Run, Since: d.now, Renewed: d.now,
			Order: e.Order})
		d.Left = slices.DeleteFunc(d.Left, func(l Left) bool { return l.Target == e.Target })
		d.change(Arrived, e.Target)
	}
	d.open()
	d.passed()
}

// outdated reports whether the target sent a request of another run, or a withdrawal, later.
func (d *decision) outdated() bool {
	e := d.e
	late := func(target, run string, order uint64) bool {
		return target == e.Target && run != e.Run && e.Order > 0 && e.Order < order
	}
	return slices.ContainsFunc(d.Arrivals, func(a Arrival) bool { return late(a.Target, a.Run, a.Order) }) ||
		slices.ContainsFunc(d.Passes, func(p Pass) bool { return late(p.Target, p.Run, p.Order) }) ||
		slices.ContainsFunc(d.Left, func(l Left) bool { return late(l.Target, "", l.Order) })
}

// passed sets the answer if the generation of the run opened.
func (d *decision) passed() bool {
	i := slices.IndexFunc(d.Passes, func(p Pass) bool { return p.Target == d.e.Target && p.Run == d.e.Run })
	if i >= 0 {
		d.answer.Open, d.answer.Generation = true, d.Passes[i].Generation
	}
	return i >= 0
}

// refusal returns the reason for which the target cannot arrive.
func (d *decision) refusal() Refusal {
	is := func(m Member) bool { return m.Target == d.e.Target && !m.Absent.left() }
	switch {
	case d.Undeclared:
		return Undeclared
	case len(d.e.Members) == 0:
		return Empty
	case len(d.e.Members) > MaxMembers:
		return TooMany
	case !slices.ContainsFunc(d.e.Members, is):
		return NotMember
	}
	return ""
}

func (d *decision) withdraw() {
	if d.passed() {
		return
	}
	i := slices.IndexFunc(d.Arrivals, func(a Arrival) bool { return a.Target == d.e.Target && a.Run == d.e.Run })
	if i >= 0 {
		d.Arrivals = slices.Delete(d.Arrivals, i, i+1)
		d.change(Withdrawn, d.e.Target)
	}
	if d.e.Order > 0 {
		d.Left = slices.DeleteFunc(d.Left, func(l Left) bool { return l.Target == d.e.Target })
		d.Left = append(d.Left, Left{Target: d.e.Target, Order: d.e.Order})
		d.Left = d.Left[max(0, len(d.Left)-MaxMembers):]
		d.change(Noted, d.e.Target)
	}
}

// remove removes the arrival of a target, if it has one.
func (d *decision) remove(target string, why ChangeKind) {
	if i := slices.IndexFunc(d.Arrivals, func(a Arrival) bool { return a.Target == target }); i >= 0 {
		d.Arrivals = slices.Delete(d.Arrivals, i, i+1)
		d.change(why, target)
	}
}

// open opens the next generation if enough members have arrived. Arrivals of targets that left end.
func (d *decision) open() {
	if d.Undeclared || len(d.e.Members) > MaxMembers {
		return
	}
	members := map[string]Absence{}
	for _, m := range d.e.Members {
		members[m.Target] = m.Absent
	}
	for _, a := range slices.Clone(d.Arrivals) {
		if absent, is := members[a.Target]; !is || absent.left() {
			d.remove(a.Target, Expired)
		}
	}
	d.count(members)
	if n := d.answer.Arrived; n == 0 || n < d.answer.Required {
		return
	}
	d.Generation++
	for _, a := range d.Arrivals {
		d.Passes = slices.DeleteFunc(d.Passes, func(p Pass) bool { return p.Target == a.Target })
		d.Passes = append(d.Passes, Pass{Target: a.Target, Run: a.Run, Generation: d.Generation, At: d.now,
			Order: a.Order})
	}
	d.Passes = d.Passes[max(0, len(d.Passes)-MaxMembers):]
	d.answer.Changes = append(d.answer.Changes, Change{Kind: Opened, Count: len(d.Arrivals)})
	d.Arrivals = nil
}

// count sets the numbers of the answer. A member counts if it is not absent, or if it has arrived.
func (d *decision) count(members map[string]Absence) {
	d.answer.Arrived, d.answer.Counted = len(d.Arrivals), 0
	arrived := map[string]bool{}
	for _, a := range d.Arrivals {
		arrived[a.Target] = true
	}
	for target, absent := range members {
		if absent == "" || arrived[target] {
			d.answer.Counted++
		}
	}
	d.answer.Required = d.Required(d.answer.Counted)
}

// Explain returns the cause of a refusal, or of a wait, for an operator.
func (a Answer) Explain(name string) string {
	switch a.Refused {
	case NotMember:
		return fmt.Sprintf("the target is not a member of the barrier %s", name)
	case Empty:
		return fmt.Sprintf("the barrier %s has no members", name)
	case TooMany:
		return fmt.Sprintf("the barrier %s has more than %d members", name, MaxMembers)
	case Undeclared:
		return fmt.Sprintf("the repository no longer declares the barrier %s", name)
	case Outdated:
		return fmt.Sprintf("the target sent a later request about the barrier %s", name)
	}
	if a.Open {
		return ""
	}
	return fmt.Sprintf("%d of %d required members have arrived at the barrier %s", a.Arrived, a.Required, name)
}
