package machine

import (
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Action is an output of the state machine. This file, acceptedjob.go and binary.go declare all
// types. The driver must finish Persist, Append, Drop and ConfirmBinary durably before the next
// action. It starts all other actions in the background, and reports their end as an event.
type Action interface{ action() }

// Persist writes the durable state. The driver must not use State after the next step begins.
type Persist struct{ State *StoredState }

// Append writes a report to the outbox. It replaces a report with the same number.
type Append struct{ Report fleet.Report }

// Drop deletes reports up to a number from the outbox, except the newest report of all, because its
// number must not be used again.
type Drop struct{ Seq uint64 }

// Send sends a report of the outbox to a hub. Only one is in transit at a time.
type Send struct{ Seq uint64 }

// Beat sends a heartbeat to the hubs.
type Beat struct{ Beat fleet.Beat }

// Ask requests an assignment that is newer than Have.
type Ask struct{ Have fleet.Have }

// Fetch fetches the missing bundles of an assignment, and verifies all of its bundles.
type Fetch struct{ Assignment fleet.Assignment }

// Run applies a composition: plan, apply, check. Only one runs at a time.
type Run struct {
	// Want is the composition. Its modules are the modules that take part, each at its desired
	// bundle.
	Want fleet.Assignment
	// Absent lists the assigned modules that do not take part, sorted.
	Absent []string
	Cause  Cause
	By     string // the user who ordered it
	Full   bool   // compare whole contents instead of metadata
	Look   bool   // only observe
	// Checks makes the checks run even if there are no changes.
	Checks bool
	// Up reports that the agent was connected to a hub before the run.
	Up bool
}

// Retain lists the bundles that are still needed, by digest. All others can be deleted.
type Retain struct{ Digests []string }

// Publish sends all exported values of the target to a hub. Only one is in transit at a time.
type Publish struct{ Exports fleet.Exports }

// AcknowledgeJob answers a hub that sent a job.
type AcknowledgeJob struct{ Answer fleet.JobAnswer }

// Renew gets a new certificate.
type Renew struct{}

// Thaw requests a LocalFreeze event with the current state.
type Thaw struct{}

// Wake requests a Tick after a time. It replaces the previous Wake.
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
