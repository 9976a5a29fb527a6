// Package clone detects that several hosts have the identity of one target. It decides, and uses no
// clock, randomness or network.
//
//	next := record.Take(claim, value, now)   // value is fresh and random
//	if next.Cloned { … }                     // the target was cloned: next.Copies() are its hosts
//
// Each claim of an agent shows the value that a hub gave last, and its answer is the next value. A
// host stores the value before it claims again, so its values form a chain. A value that is not the
// newest begins a second branch: an answer may have been lost, or the state of the host or of the
// hub may be older, from a backup. In each of these cases the first branch ends. Two hosts continue
// both branches, in turn. That is the proof: each of two branches continued at least twice after
// another branch.
package clone

import (
	"cmp"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// Bounds of a record.
const (
	maxBranches = 8
	// endAfter is how many claims in a row continue a branch until the other branches are removed.
	endAfter = 8
	// proofReturns is how often a branch must continue after another branch. The cause of a single
	// return can be a delayed message. It can also be a virtual machine that was reverted to an
	// old snapshot, and then to a newer snapshot.
	proofReturns = 2
)

// Record describes the claims of one target. Hubs store it. The zero value is a target that never
// claimed.
type Record struct {
	Branches []Branch `json:"branches,omitempty"` // oldest first
	// Current is the newest value of the branch that continued last.
	Current string `json:"current,omitempty"`
	// Process made the last claim, and Last is the value in the answer.
	Process string `json:"process,omitempty"`
	Last    string `json:"last,omitempty"`
	Row     int    `json:"row,omitempty"` // claims in a row that continued the current branch
	// Settled says that one process made the last two claims, the second with the value that the
	// first was given. A hub requests a claim of every process of the target until it is true.
	Settled bool `json:"settled,omitempty"`
	// Cloned says that the target was cloned. It stays until an operator decides.
	Cloned bool `json:"proved,omitempty"`
}

// Branch is a chain of values.
type Branch struct {
	// Given is the newest value. The host may not have it: answers can be lost.
	Given string `json:"given"`
	// Continued says that a host showed a value of this branch, so that it had received it.
	Continued bool `json:"continued,omitempty"`
	// Returns counts how often the branch continued after another branch.
	Returns int        `json:"returns,omitempty"`
	Copy    fleet.Copy `json:"copy"`
}

// Take returns the record after a claim. value is the answer to the claim, now is in seconds since
// 1970. The branches of r stay as they are.
func (r Record) Take(c fleet.Claim, value string, now int64) Record {
	r.Branches = slices.Clone(r.Branches)
	r.Settled = c.Process == r.Process && c.Value == r.Last
	r.Process, r.Last, c.Seen = c.Process, value, now
	i := slices.IndexFunc(r.Branches, func(b Branch) bool { return c.Value != "" && b.Given == c.Value })
	if i < 0 {
		r.Row, r.Settled = 0, false
		r.begin(Branch{Given: value, Copy: c.Copy})
		return r
	}
	r.proceed(&r.Branches[i])
	r.Branches[i].Given, r.Branches[i].Copy, r.Current = value, c.Copy, value
	r.Cloned = r.Cloned || r.proof()
	if r.Row >= endAfter && !r.Cloned {
		r.Branches, r.Row = []Branch{{Given: value, Continued: true, Copy: c.Copy}}, 0
	}
	return r
}

// begin adds a branch. If there is no room, it replaces the newest branch that never continued.
func (r *Record) begin(b Branch) {
	if len(r.Branches) >= maxBranches {
		i := len(r.Branches) - 1
		for i > 0 && r.Branches[i].Continued {
			i--
		}
		r.Branches = slices.Delete(r.Branches, i, i+1)
	}
	r.Branches = append(r.Branches, b)
}

// proceed notes that a branch continues.
func (r *Record) proceed(b *Branch) {
	if b.Given == r.Current {
		r.Row++
		return
	}
	r.Row = 1
	if b.Continued {
		b.Returns++
	}
	b.Continued = true
}

func (r *Record) proof() bool {
	n := 0
	for _, b := range r.Branches {
		if b.Returns >= proofReturns {
			n++
		}
	}
	return n >= 2
}

// Copies returns the hosts that claim in turn, the newest claim first.
func (r Record) Copies() []fleet.Copy {
	var out []fleet.Copy
	for _, b := range r.Branches {
		if b.Returns > 0 {
			out = append(out, b.Copy)
		}
	}
	slices.SortStableFunc(out, func(a, b fleet.Copy) int { return cmp.Compare(b.Seen, a.Seen) })
	return out
}
