package machine

import (
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// Format is that of Kept.
const Format = "fettle.agent/1"

// MaxOutbox bounds how many reports wait to be acknowledged. Those that come when it is
// full are folded into the newest: its status is the latest, and no number is left out.
const MaxOutbox = 1000

// maxDone bounds how many requests are remembered, so that each is done once.
const maxDone = 256

// Now is a moment by two clocks.
type Now struct {
	Wall int64         // ns since 1970; it may jump
	Mono time.Duration // since the process began; it never does
}

// Config says what an agent is and how often it does what. Zero times are the defaults.
type Config struct {
	Target  fleet.TargetID
	Version string // of this program
	Boot    string // of the kernel
	Poll    time.Duration
	Sweep   time.Duration // between two looks at everything, by stat
	Full    time.Duration // between two that read every byte
	Blind   time.Duration // Sweep while not all can be watched
	Beat    time.Duration
	Tries   int // runs of the same composition before it has failed
	Binary  Binary
}

// The defaults of Config.
const (
	DefaultPoll  = 5 * time.Minute
	DefaultSweep = 30 * time.Minute
	DefaultFull  = 24 * time.Hour
	DefaultBlind = 5 * time.Minute
	DefaultBeat  = 30 * time.Second
	DefaultTries = 3
)

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		have *time.Duration
		want time.Duration
	}{{&c.Poll, DefaultPoll}, {&c.Sweep, DefaultSweep}, {&c.Full, DefaultFull}, {&c.Blind, DefaultBlind}, {&c.Beat, DefaultBeat}} {
		if *d.have <= 0 {
			*d.have = d.want
		}
	}
	if c.Tries <= 0 {
		c.Tries = DefaultTries
	}
	return c
}

// Kept is all that outlives the process, but for the outbox. The zero value is an agent
// that was never told anything.
type Kept struct {
	Format string `json:"format"`
	// Accepted is the newest assignment that was taken; nil: none.
	Accepted *fleet.Assignment `json:"accepted,omitempty"`
	// Envelope is how it came: what anybody can be shown of it.
	Envelope []byte `json:"envelope,omitempty"`
	// Good is what stands on the machine, whether or not its checks hold; nil: nothing.
	Good *fleet.Assignment `json:"good,omitempty"`
	// Proved is the newest assignment of which a run was done and every check held.
	Proved *fleet.AssignmentNumber `json:"proved,omitempty"`
	// Absent are the modules that were assigned with Good and have no part in it.
	Absent  []string          `json:"absent,omitempty"`
	Modules map[string]Module `json:"modules,omitempty"`
	Try     Try               `json:"try"`
	// Trouble is what is wrong with the whole and with no module in particular, for the status.
	Trouble string `json:"trouble,omitempty"`
	// Apply and Verify are who asked for it, until it is done; "" is nobody.
	Apply        string   `json:"apply,omitempty"`
	Verify       string   `json:"verify,omitempty"`
	FinishedJobs []string `json:"done,omitempty"` // requests that were taken, oldest first
	// AcceptedJob are the requests that run something, oldest first.
	AcceptedJobs []AcceptedJob `json:"taken,omitempty"`
	Seq          uint64        `json:"seq"` // of a report that was durable; the outbox knows better
	// Run, Changed (ns since 1970) and Facts are for the status.
	Run     int               `json:"run,omitempty"`
	Changed int64             `json:"changed,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
	// BadBinary is the digest of a program that did not do. It is not tried again until
	// somebody asks to apply.
	BadBinary string `json:"bad_program,omitempty"`
	// Exports are what the modules exported after the last run that went well; Told says
	// that hubs may know of values, so that they have to be told when there are none.
	Exports []exported.Own `json:"exports,omitempty"`
	Told    bool           `json:"told,omitempty"`
	// Carried are values of others that an earlier epoch gave; see Machine.carry.
	Carried []exported.Table `json:"carried,omitempty"`
}

// Module is where one stands.
type Module struct {
	State fleet.Readiness `json:"state"`
	Since int64           `json:"since"` // ns since 1970
	Waits string          `json:"waits,omitempty"`
	Error string          `json:"error,omitempty"`
	// Drift and Bad are about what stands: so many addresses are other than applied; it
	// is half done, or its checks do not hold.
	Drift int  `json:"drift,omitempty"`
	Bad   bool `json:"bad,omitempty"`
	// Held is what other targets have to report before all of it can be applied.
	Held string `json:"held,omitempty"`
	// Failed is the bundle that is not tried any more, until another one is assigned or
	// somebody asks for it.
	Failed string `json:"failed,omitempty"`
}

// Try counts the runs of a composition that did not succeed.
type Try struct {
	Key string `json:"key,omitempty"` // of the composition
	N   int    `json:"n,omitempty"`
	// Open says that the last one has begun, and nobody knows how it ended.
	Open bool `json:"open,omitempty"`
}

// Result is how a run ended.
type Result string

// The results of runs. The zero value is none of them.
const (
	Done        Result = "done"         // success; perhaps there were no changes
	Looked      Result = "looked"       // nothing was to be done but to look
	Failed      Result = "failed"       // what was done stays
	CheckFailed Result = "check-failed" // all is done, and a check does not hold
	RolledBack  Result = "rolled-back"
	Broken      Result = "broken" // no list could be made: trying again is no use
	Locked      Result = "locked" // somebody else works on the machine, or has to confirm
	Frozen      Result = "frozen"
	Stopped     Result = "stopped" // the agent ends
)

// Outcome is how a run ended, by module.
type Outcome struct {
	Result  Result
	Run     int // of the target's history, 0 when nothing was recorded
	Changes int
	Error   string
	// Undo says that the repository wants what fails undone.
	Undo bool
	// Parts has what is to be said of modules; "" is the top. One that is missing is as
	// wanted.
	Parts map[string]Part
	// Checked says that all checks ran after the last change. A run that is done without it
	// says nothing of what failed before.
	Checked bool
	// Repaired counts what had drifted and is as applied again.
	Repaired int
	Facts    map[string]string
	Exports  []exported.Own // sorted
}

// Part is what a run says of one module.
type Part struct {
	Error string // what failed in it
	Left  int    // changes that did not run
	Drift int    // addresses that are other than applied, and stay so
	Waits string // which values of other targets it waits for
}

// Cause is why there is a run.
type Cause string

// The causes of runs.
const (
	Assigned Cause = "assigned" // there is something new
	Retry    Cause = "retry"    // it failed before
	Start    Cause = "start"    // the agent began
	Ordered  Cause = "asked"    // somebody asked for it
	Noticed  Cause = "noticed"  // something changed on the machine
	Sweep    Cause = "sweep"    // it is time to look at everything
)
