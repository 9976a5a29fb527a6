package coordination

import (
	"fmt"
	"time"
)

// judge checks a history of one lock. It uses no code of the package except the names of values. It knows the true
// time, which no hub knows: the clocks of hubs differ from it by less than half of Grace.
type judge struct {
	slots   int
	free    bool
	gone    bool // not declared
	lease   time.Duration
	owners  map[string]claim
	largest uint64
	waiting waits
	broken  []string
}

// claim is a slot as its owner knows it.
type claim struct {
	token uint64
	asked time.Duration // true time of the last request that succeeded
	lease time.Duration // at that time
}

func (j *judge) failf(format string, args ...any) {
	j.broken = append(j.broken, fmt.Sprintf(format, args...))
}

// others returns the number of other owners that hold a slot, if leases last longer by more.
func (j *judge) others(owner string, at, more time.Duration) (n int) {
	for name, c := range j.owners {
		if name != owner && (!j.free || at < c.asked+c.lease+more) {
			n++
		}
	}
	return n
}

// supervisors are the supervisors of owners: b and c are guests of a, and d is a guest of c.
var supervisors = map[string]string{"b": "a", "c": "a", "d": "c"}

// above reports whether an owner contains another one, directly or not.
func above(owner, other string) bool {
	for s := supervisors[other]; s != ""; s = supervisors[s] {
		if s == owner {
			return true
		}
	}
	return false
}

// relatedHolds reports whether a supervisor or a guest of an owner holds a slot, if leases last longer by more.
func (j *judge) relatedHolds(owner string, at, more time.Duration) bool {
	for name, c := range j.owners {
		if (above(owner, name) || above(name, owner)) && (!j.free || at < c.asked+c.lease+more) {
			return true
		}
	}
	return false
}

// acquired checks the answer to a request at a time.
func (j *judge) acquired(owner string, at time.Duration, refused string, token uint64) {
	c, had := j.owners[owner]
	sure := had && (!j.free || at < c.asked+c.lease)
	switch {
	case refused == "" && had && token == c.token:
		j.owners[owner] = claim{token, at, j.lease}
	case refused == "":
		j.granted(owner, at, token, sure)
	case sure:
		j.failf("%s: %s holds a slot and cannot renew its lease: %s", at, owner, refused)
	case refused == "related" && !j.relatedHolds(owner, at, 2*time.Minute):
		j.failf("%s: %s is refused, and no related owner holds a slot", at, owner)
	case refused == "full" && j.others(owner, at, 2*time.Minute) < j.slots:
		j.failf("%s: %s is refused, and a slot is free", at, owner)
	case refused == "undeclared" && !j.gone:
		j.failf("%s: the lock is declared", at)
	}
}

func (j *judge) granted(owner string, at time.Duration, token uint64, sure bool) {
	if sure {
		j.failf("%s: %s has a second token", at, owner)
	}
	if token <= j.largest {
		j.failf("%s: the token %d of %s is not larger than %d", at, token, owner, j.largest)
	}
	if n := j.others(owner, at, 0); n >= j.slots {
		j.failf("%s: %s gets a slot, but %d of %d slots are taken", at, owner, n, j.slots)
	}
	if j.relatedHolds(owner, at, 0) {
		j.failf("%s: %s gets a slot, and a related owner has one", at, owner)
	}
	if j.gone {
		j.failf("%s: %s gets a slot of an undeclared lock", at, owner)
	}
	j.largest = max(j.largest, token)
	j.owners[owner] = claim{token, at, j.lease}
}

// released notes a release with a token; 0 means any.
func (j *judge) released(owner string, token uint64) {
	if c, had := j.owners[owner]; had && (token == 0 || token == c.token) {
		delete(j.owners, owner)
	}
}

// left notes that an owner left the fleet. freed tells whether it has no slot afterwards.
func (j *judge) left(owner string, at time.Duration, working, freed bool) {
	c, had := j.owners[owner]
	switch {
	case had && freed && working && at < c.asked+c.lease:
		j.failf("%s: the slot of %s is free, and it may still work", at, owner)
	case !freed && (!working || had && at >= c.asked+c.lease+2*time.Minute):
		j.failf("%s: %s left the fleet and keeps its slot", at, owner)
	}
	if freed {
		delete(j.owners, owner)
	}
}
