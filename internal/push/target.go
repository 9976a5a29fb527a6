package push

import "fettle.dev/fettle/internal/fleet/rollout"

// Operation is the kind of a task.
type Operation string

// The operations. All of them can be repeated.
const (
	Plan   Operation = "plan"   // compares the target with the content
	Apply  Operation = "apply"  // applies the content, and runs the checks
	Check  Operation = "check"  // runs the checks, and changes nothing
	Return Operation = "return" // rolls back to Task.Base
)

// Task is one operation on a target. A target has at most one task at a time.
type Task struct {
	Target    string
	Operation Operation
	Base      int // of Return: the run whose state is restored
}

// Result is the result of a task.
type Result struct {
	Reached bool   // false: the target has no contact, and the other fields are unknown
	OK      bool   // the operation succeeded; after Apply and Check: all checks passed
	Why     string // it is not OK
	Changes bool   // of Plan: the target differs from the content
	Run     int    // of Plan: the last run that applied something; 0: nothing is applied
	Zone    string // of Plan: the time zone, for windows; "" is unknown
}

// previous is the digest of any content other than Order.Content.
const previous = "previous"

// The times between two tasks of a target, in seconds.
const (
	checkEvery   = 10
	attemptEvery = 15 // without contact, or after a failed return
)

// target is the knowledge about one target. All times are seconds since 1970.
type target struct {
	planned  bool
	excluded bool // it cannot be planned
	changes  bool // it does not have the content
	base     *int // the run before the rollout, since its change began
	returned bool // the task Return has ended

	windows *windows // nil: it waits for no window

	online  bool
	contact int64
	health  rollout.Health
	since   int64 // of the health
	checked int64 // begin of the last successful check
	why     string

	run   int       // the last run, from its plan
	task  Operation // in progress, or ""
	began int64     // of the task
	next  int64     // earliest time of the next task
}

// lacks reports whether a target does not have the content. While it is not known, it has the content if its change
// began.
func (t *target) lacks() bool { return t.changes || !t.planned && t.base == nil }

// ready reports whether a target has contact and the content, and is healthy. A target that had the content before the
// rollout is not checked.
func (t *target) ready() bool {
	before := t.base == nil && !t.excluded
	return t.planned && t.online && !t.lacks() && (before || t.health == rollout.Healthy)
}

// isNew reports whether nothing was applied before the rollout.
func (t *target) isNew() bool {
	return t.base == nil && t.planned && t.run == 0 || t.base != nil && *t.base == 0
}

// set changes the health.
func (t *target) set(h rollout.Health, why string, now int64) {
	if t.health != h {
		t.health, t.since = h, now
	}
	t.why = why
}

// ended records the result of a task.
func (t *target) ended(op Operation, r Result, now int64) {
	t.task = ""
	t.next = now + attemptEvery
	t.online = r.Reached
	if !r.Reached {
		t.why = r.Why
		return
	}
	t.contact = now
	switch op {
	case Plan:
		t.afterPlan(r, now)
	case Apply, Check:
		t.next = now + checkEvery
		t.afterCheck(r, now)
	case Return:
		t.afterReturn(r, now)
	}
}

// afterPlan: a target without a plan takes no part. The health of a target whose change began earlier is unknown until
// its next task.
func (t *target) afterPlan(r Result, now int64) {
	t.planned, t.changes, t.run, t.next = true, r.Changes, r.Run, 0
	switch {
	case !r.OK:
		t.changes, t.excluded = false, true
		t.set(rollout.Broken, r.Why, now)
	case r.Changes && t.base == nil:
		t.set(rollout.Healthy, "", now)
	}
}

func (t *target) afterCheck(r Result, now int64) {
	if !r.OK {
		t.set(rollout.Broken, r.Why, now)
		return
	}
	t.checked = t.began
	t.set(rollout.Healthy, "", now)
}

// afterReturn: a refused return is not repeated.
func (t *target) afterReturn(r Result, now int64) {
	t.returned = true
	if !r.OK {
		t.set(rollout.Broken, r.Why, now)
		return
	}
	t.set(rollout.Healthy, "", now)
}

// hurry brings the next check forward to the time at which the target can be ready.
func (t *target) hurry(minReadyTime int64) {
	if can := t.since + minReadyTime; t.health == rollout.Healthy && t.checked < can {
		t.next = min(t.next, can)
	}
}

// start records that a task begins. From then on, the content is assigned to the target, or withdrawn.
func (t *target) start(op Operation, now int64) {
	t.task, t.began = op, now
	switch op {
	case Apply:
		t.changes = false
		t.set(rollout.Applying, "", now)
	case Return:
		t.changes = true
		t.set(rollout.Applying, "", now)
	case Plan, Check:
	}
}
