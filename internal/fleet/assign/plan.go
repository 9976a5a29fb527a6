package assign

import "fettle.dev/fettle/internal/fleet"

// Desired is the desired assignment of an active target that follows the fleet's branch.
type Desired struct {
	Target fleet.Target
	Was    *fleet.Assignment // the newest assignment; nil means none
	// Want is the assignment by the branch, whether the target may get it now or not. nil means that the
	// target is pinned, or that the commit cannot be used for it.
	Want *fleet.Assignment
	// Strategy is the name of the strategy of its rollouts in this commit; "" means none.
	Strategy string
	Kept     string // why the assignment does not change now, or ""
	Closed   bool   // Kept is a window, and ends by itself
}

// Grant decides which parts of its desired assignment a target gets now. was is its newest assignment,
// or nil. It returns want, or was with some parts of want, and the reason for users. The result can also be the
// zero value: the target gets no assignment yet. Grant must be pure.
type Grant func(was *fleet.Assignment, want fleet.Assignment) (give fleet.Assignment, why string)

// AtOnce grants the whole assignment.
func AtOnce(_ *fleet.Assignment, want fleet.Assignment) (fleet.Assignment, string) {
	return want, "the assignment is issued without delay"
}
