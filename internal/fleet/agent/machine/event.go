package machine

import "fettle.dev/fettle/internal/fleet"

// Event is an input of the state machine. This file, acceptedjob.go and binary.go declare all
// types.
type Event interface{ event() }

// Started is the first event of a process.
type Started struct{}

// Link reports that the agent connected to the hubs, or lost the connection.
type Link struct{ Up bool }

// Offered is an assignment from a hub, with a verified signature. It can be old, a duplicate, or
// for a different target. Envelope is its signed form.
type Offered struct {
	Assignment fleet.Assignment
	Envelope   []byte
}

// Forged is an assignment from a hub whose verification failed.
type Forged struct{ Why string }

// Answered ends an Ask, after Offered if the hub had a newer assignment. Error is "" if a hub
// answered.
type Answered struct{ Error string }

// Fetched ends a Fetch. Error is "" if all bundles are stored and verified. Refused reports that
// the bundles are rejected permanently.
type Fetched struct {
	Epoch, Generation uint64
	Error             string
	Refused           bool
}

// Drifted is sent during a run that repairs drift. Modules has the number of drifted addresses of
// each module.
type Drifted struct {
	Modules map[string]int
	Text    string // the first drifted address, for users
}

// Ran ends a Run.
type Ran struct{ Outcome Outcome }

// Touched reports that a managed file or unit may have changed.
type Touched struct{}

// Watched reports whether all managed paths and units are watched. Why is "" or the reason why some
// are not.
type Watched struct{ Why string }

// Tick reports that time has passed. It can be sent at any time.
type Tick struct{}

// Acked ends a Send. Error is "" when the report is durable at a hub.
type Acked struct {
	Seq   uint64
	Error string
}

// Numbered reports the number of the newest report of this target at a hub.
type Numbered struct{ Seq uint64 }

// JobReceived is a job from a hub.
type JobReceived struct{ Job fleet.Job }

// LocalFreeze reports that a user froze the host locally, with the user and the reason. Why is ""
// if it is no longer frozen.
type LocalFreeze struct {
	Why   string
	Until int64 // the end by the wall clock, in ns since 1970; 0: none
}

// Certificate is the validity of the current certificate, in seconds since 1970.
type Certificate struct{ From, Until int64 }

// Published ends a Publish. Error is "" when the values are durable at a hub.
type Published struct {
	Exports fleet.Exports
	Error   string
}

// Renewed ends a Renew. After a success, a Certificate follows.
type Renewed struct{ Error string }

func (Started) event()     {}
func (Link) event()        {}
func (Offered) event()     {}
func (Forged) event()      {}
func (Answered) event()    {}
func (Fetched) event()     {}
func (Drifted) event()     {}
func (Ran) event()         {}
func (Touched) event()     {}
func (Watched) event()     {}
func (Tick) event()        {}
func (Acked) event()       {}
func (Numbered) event()    {}
func (JobReceived) event() {}
func (LocalFreeze) event() {}
func (Certificate) event() {}
func (Published) event()   {}
func (Renewed) event()     {}
