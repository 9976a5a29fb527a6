package view

import "time"

// MaxPage is the most that one answer holds.
const MaxPage = 10_000

// TargetQuery chooses targets. The zero value, with Now, is the first page of those that
// are neither retired nor revoked, by name.
type TargetQuery struct {
	Select []string // as -t has it; see fleet/selection
	All    bool     // those that are retired or revoked too
	// Sort is name, state (the worst first), contact (the longest silent first), drift,
	// behind or changed (the newest first); "-" before it turns it round. "" is name.
	Sort          string
	Offset, Limit int // Limit 0 is MaxPage
	Now           time.Time
}

// ModuleQuery asks for one module with a page of its targets, the worst first.
type ModuleQuery struct {
	Module        string // the directory
	Offset, Limit int
	Now           time.Time
}

// EventQuery chooses events, oldest first. With neither After nor Since it is the newest
// Limit of them.
type EventQuery struct {
	Target       string // identity, or the name of a target; "" is any
	Module       string
	Kinds        []string
	Since, Until time.Time // by the clock of who tells it
	After        string    // a cursor
	Limit        int       // 0 is 100
}
