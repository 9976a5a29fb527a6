package machine

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Action is something to do. The types of this file are all that there are. Persist,
// Append and Drop are done, durably, before the next action; the others are begun, and
// an event tells how they ended.
type Action interface{ action() }

// Persist writes what outlives the process. Kept is lent until the next step.
type Persist struct{ Kept *Kept }

// Append puts a report into the outbox, in the place of one with its number.
type Append struct{ Report fleet.Report }

// Drop takes the reports up to a number out of the outbox. The newest of all stays: its
// number must not be given again.
type Drop struct{ Seq uint64 }

// Send gives a report of the outbox to a hub. One is under way at a time.
type Send struct{ Seq uint64 }

// Beat tells the hubs that the agent lives.
type Beat struct{ Beat fleet.Beat }

// Ask asks the hubs for an assignment that is newer than what there is.
type Ask struct{ Have fleet.Have }

// Fetch gets the bundles of an assignment that are missing, and verifies all of them.
type Fetch struct{ Assignment fleet.Assignment }

// Run makes the machine be as a composition says: plan, apply, check. One is under way
// at a time.
type Run struct {
	// Want has as modules those that take part, each at the bundle it is to have.
	Want fleet.Assignment
	// Absent are the modules that are assigned and take no part at all, sorted.
	Absent []string
	Cause  Cause
	By     string // who asked
	Full   bool   // read every byte
	Look   bool   // change nothing
	// Checks says that the checks are due even if nothing is to be done.
	Checks bool
	// Up says that a hub could be reached before it.
	Up bool
}

// Retain says which bundles are still needed, by digest; others may go.
type Retain struct{ Digests []string }

// Publish gives a hub all values that the target exports. One is under way at a time.
type Publish struct{ Exports fleet.Exports }

// AcknowledgeJob acknowledges a request.
type AcknowledgeJob struct{ Answer fleet.JobAnswer }

// Renew gets a new certificate.
type Renew struct{}

// Thaw looks whether the machine is frozen still; Frost tells.
type Thaw struct{}

// Wake asks for a Tick after some time, in the place of the one asked for before.
type Wake struct{ In time.Duration }

func (Persist) action()        {}
func (Append) action()         {}
func (Drop) action()           {}
func (Send) action()           {}
func (Beat) action()           {}
func (Ask) action()            {}
func (Fetch) action()          {}
func (Run) action()            {}
func (Retain) action()         {}
func (AcknowledgeJob) action() {}
func (Publish) action()        {}
func (Renew) action()          {}
func (Thaw) action()           {}
func (Wake) action()           {}
