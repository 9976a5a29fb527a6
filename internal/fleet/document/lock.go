package document

import "fettle.dev/fettle/internal/fleet"

// LockPageFormat is the format of LockPage.
const LockPageFormat = "fettle.fleet.locks/1"

// LockPage has all locks of a fleet, sorted by name.
type LockPage struct {
	Format string `json:"format"`
	Locks  []Lock `json:"locks"`
}

// Lock describes a lock for users. Times are in ns since 1970.
type Lock struct {
	Name     string `json:"name"`
	Slots    int    `json:"slots"`
	Taken    int    `json:"taken"` // can be more than Slots, if the repository reduced them
	Lease    int64  `json:"lease_ns"`
	OnExpiry string `json:"on_expiry"` // keep or free
	// Reboots means that targets need a slot of this lock for a reboot.
	Reboots bool `json:"reboots,omitempty"`
	// Undeclared means that the repository no longer declares the lock, so it grants no slots.
	Undeclared bool `json:"undeclared,omitempty"`
	// Opens is the time until which the lock grants no slots, because the fleet was restored; 0 means that it does.
	Opens int64 `json:"opens,omitempty"`
	// Holders are in the order of their grants.
	Holders []LockHolder `json:"holders"`
	// Waiting are up to 100 targets whose last request for a slot was refused, in the order of their first requests.
	Waiting []LockWaiter `json:"waiting"`
}

// LockWaiter is a target that waits for a slot.
type LockWaiter struct {
	Target fleet.TargetID `json:"target"`
	Name   string         `json:"name"`  // "" if the target is unknown
	Since  int64          `json:"since"` // of the first refusal
	// Asked is the time of a recent request, which the target has repeated at most a minute later.
	Asked int64 `json:"asked"`
}

// LockWait is a lock for whose slot a target waits.
type LockWait struct {
	Lock    string       `json:"lock"`
	Since   int64        `json:"since"`
	Holders []LockHolder `json:"holders"` // the targets with its slots
}

// LockHolder is a target that holds a slot, or that lost it.
type LockHolder struct {
	Target  fleet.TargetID `json:"target"`
	Name    string         `json:"name"` // "" if the target is unknown
	Token   uint64         `json:"token"`
	Since   int64          `json:"since"`
	Expires int64          `json:"expires"`
	// State is held; overdue: the lease ended, and the slot is still taken; or lost: the lease ended, and the slot is
	// free.
	State LockHolderState `json:"state"`
}

// LockHolderState tells whether a slot is still taken.
type LockHolderState string

// States of holders.
const (
	SlotHeld    LockHolderState = "held"
	SlotOverdue LockHolderState = "overdue"
	SlotLost    LockHolderState = "lost"
)

// LockReleaseRequest releases the slot of a target.
type LockReleaseRequest struct {
	Owner  string `json:"owner"` // the name or the ID of the target
	Reason string `json:"reason"`
}
