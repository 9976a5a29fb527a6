package machine

import "fettle.dev/fettle/internal/fleet"

// Event is something that happened. The types of this file are all that there are.
type Event interface{ event() }

// Started is the first event of a process.
type Started struct{}

// Link tells that the hubs can be reached, or cannot any more.
type Link struct{ Up bool }

// Offered is an assignment that a hub gave, whose signature was verified. It may be old,
// doubled, or for somebody else. Envelope is how it came.
type Offered struct {
	Assignment fleet.Assignment
	Envelope   []byte
}

// Forged is something that a hub gave which is not to be believed.
type Forged struct{ Why string }

// Answered ends an Ask, after Offered if there was something; Error is "" where a hub
// answered.
type Answered struct{ Error string }

// Fetched ends a Fetch. Error is "" when all bundles are there and may be used; Refused
// says that they may never be.
type Fetched struct {
	Epoch, Generation uint64
	Error             string
	Refused           bool
}

// Drifted comes in the middle of a run that repairs: this many addresses of modules are
// not as applied.
type Drifted struct {
	Modules map[string]int
	Text    string // the first of them, for people
}

// Ran ends a Run.
type Ran struct{ Outcome Outcome }

// Touched tells that something that is managed may have changed.
type Touched struct{}

// Watched tells whether all that is managed can be watched; Why says what cannot.
type Watched struct{ Why string }

// Tick tells that time has passed. It may come at any moment.
type Tick struct{}

// Acked ends a Send. Error is "" when the report is durable at a hub.
type Acked struct {
	Seq   uint64
	Error string
}

// Numbered reports the number of the newest report that a hub has of this target.
type Numbered struct{ Seq uint64 }

// JobReceived is a request from a hub.
type JobReceived struct{ Job fleet.Job }

// LocalFreeze tells that the machine is frozen by somebody on it, with the reason, or "" that
// it is not any more.
type LocalFreeze struct{ Why string }

// Certificate is the one in use, in seconds since 1970.
type Certificate struct{ From, Until int64 }

// Published ends a Publish. Error is "" when the values are durable at a hub.
type Published struct {
	Exports fleet.Exports
	Error   string
}

// Renewed ends a Renew. After a success a Certificate comes too.
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
