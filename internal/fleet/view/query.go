package view

import (
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// MaxPage limits the items in one answer.
const MaxPage = 10_000

// TargetQuery selects targets. The zero value, with Now, is the first page of all targets except
// retired and revoked ones, by name.
type TargetQuery struct {
	Select []string // as for -t; see fleet/selection
	All    bool     // include retired and revoked targets
	// Sort is name, state (the worst first), contact (the oldest first), drift, behind or changed
	// (the newest first); "-" before it reverses the order. "" means name.
	Sort          string
	Offset, Limit int // Limit 0 means MaxPage
	// After is the cursor of a page; "" means the first page. Targets that change between two pages can be on both, or
	// on neither, only if their place in the order changes.
	After string
	State document.State // only targets in this state; "" means all
	// Supervisor is the identity or the name of a target: only targets that run in its guests. "" means all.
	Supervisor string
	// By adds counts: all, or in groups by fleet, by module, by scope, or by label:NAME. "" adds none.
	By  string
	Now time.Time
}

// ModuleQuery selects one module with a page of its targets, the worst first.
type ModuleQuery struct {
	Module        string // its directory
	Offset, Limit int
	Now           time.Time
}

// EventQuery selects events, oldest first. Without After and Since, it selects the newest Limit
// events.
type EventQuery struct {
	Target       string // identity or name of a target; "" means any
	Module       string
	Kinds        []string
	Since, Until time.Time // by the clock of the sender
	After        string    // a cursor
	Limit        int       // 0 means 100
}

// ErrQuery is wrapped by errors about an invalid query.
var ErrQuery = errors.New("invalid query")

// queryError marks an error as an error of the query.
func queryError(err error) error { return fmt.Errorf("%w: %w", ErrQuery, err) }

// condition is a part of a WHERE clause with its arguments.
type condition struct {
	text []string
	args []any
}

func (c *condition) add(text string, args ...any) {
	c.text = append(c.text, text)
	c.args = append(c.args, args...)
}
