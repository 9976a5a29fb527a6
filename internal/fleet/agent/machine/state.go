package machine

import (
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// Format is the version of the format of Kept.
const Format = "fettle.agent/1"

// MaxOutbox is the maximum number of reports that are not acknowledged. When the outbox is full,
// new events replace the newest report, so its status stays current and no number is skipped.
const MaxOutbox = 1000

// maxDone is the number of remembered jobs. A remembered job is not executed again.
const maxDone = 256

// Now is the current time of two clocks.
type Now struct {
	Wall int64         // wall clock, in ns since 1970; it can jump
	Mono time.Duration // monotonic time since the start of the process
	Zone string        // time zone of the host, as a name of the IANA database; "" is unknown
	// Place has the guests of the host; nil is unknown. Its content must not change.
	Place *fleet.Place
}

// Config is the configuration of an agent. A zero duration or count means the default.
type Config struct {
	Target  fleet.TargetID
	Version string // version of the running binary
	Boot    string // ID of the boot, from the kernel
	Poll    time.Duration
	Sweep   time.Duration // interval of checks of all managed objects by metadata
	Full    time.Duration // interval of checks that compare whole contents
	Blind   time.Duration // interval of checks while the watch is incomplete
	Beat    time.Duration
	Tries   int // failed runs of a composition before it is given up
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
	}{{&c.Poll, DefaultPoll}, {&c.Sweep, DefaultSweep}, {&c.Full, DefaultFull}, {&c.Blind, DefaultBlind},
		{&c.Beat, DefaultBeat}} {
		if *d.have <= 0 {
			*d.have = d.want
		}
	}
	if c.Tries <= 0 {
		c.Tries = DefaultTries
	}
	return c
}

// StoredState is the durable state of the agent except the outbox. The zero value is the state of a new
// agent.
type StoredState struct {
	Format string `json:"format"`
	// Accepted is the newest accepted assignment; nil: none.
	Accepted *fleet.Assignment `json:"accepted,omitempty"`
	// Envelope is the signed form of Accepted.
	Envelope []byte `json:"envelope,omitempty"`
	// Applied is the composition that is applied on the host, even if its checks fail; nil: none.
	Applied *fleet.Assignment `json:"good,omitempty"`
	// LastVerified is the newest assignment with a successful run and successful checks.
	LastVerified *fleet.AssignmentNumber `json:"proved,omitempty"`
	// Absent lists assigned modules that Applied does not contain.
	Absent   []string          `json:"absent,omitempty"`
	Modules  map[string]Module `json:"modules,omitempty"`
	Attempts Attempts          `json:"try"`
	// Error is an error that concerns no single module, for the status.
	Error string `json:"trouble,omitempty"`
	// ApplyOrderedBy and VerifyOrderedBy are the users who ordered a run, until it is done; "" means none.
	ApplyOrderedBy  string   `json:"apply,omitempty"`
	VerifyOrderedBy string   `json:"verify,omitempty"`
	FinishedJobs    []string `json:"done,omitempty"` // IDs of accepted jobs, oldest first
	// AcceptedJobs are the jobs with a command, oldest first.
	AcceptedJobs []AcceptedJob `json:"taken,omitempty"`
	Seq          uint64        `json:"seq"` // number of a durable report; the outbox can have newer ones
	// Run, Changed (ns since 1970) and Facts are for the status.
	Run     int               `json:"run,omitempty"`
	Changed int64             `json:"changed,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
	// BadBinary is the digest of a binary that failed. The agent does not try it again until a user
	// orders an apply.
	BadBinary string `json:"bad_program,omitempty"`
	// Exports are the exported values after the last successful run. ExportsReported reports that hubs can
	// have values of this target, so the agent must also send an empty list.
	Exports         []exported.Own `json:"exports,omitempty"`
	ExportsReported bool           `json:"told,omitempty"`
	// PreviousValues are the values of other targets from the previous epoch; see Machine.carry.
	PreviousValues []exported.Table `json:"carried,omitempty"`
	// Checks are the results of checks of scopes; nil: there are none.
	Checks *StoredChecks `json:"checks,omitempty"`
}

// StoredChecks are the results of checks of scopes.
type StoredChecks struct {
	Boot    string              `json:"boot"` // of the host, when they were tested
	Results []fleet.CheckResult `json:"results"`
}

// Module is the state of one module.
type Module struct {
	State    fleet.Readiness `json:"state"`
	Since    int64           `json:"since"` // ns since 1970
	WaitsFor string          `json:"waits,omitempty"`
	Error    string          `json:"error,omitempty"`
	// Drift and Bad concern the applied bundle. Drift is the number of drifted addresses. Inconsistent
	// reports that it is partially applied or that its checks fail.
	Drift        int  `json:"drift,omitempty"`
	Inconsistent bool `json:"bad,omitempty"`
	// DeferredValues names the values of other targets that the module waits for.
	DeferredValues string `json:"held,omitempty"`
	// FailedBundle is the digest of a bundle that was given up. The agent tries it again if a user orders
	// an apply. A newly assigned bundle is tried anyway.
	FailedBundle string `json:"failed,omitempty"`
}

// Attempts counts the runs of a composition that did not succeed.
type Attempts struct {
	Key   string `json:"key,omitempty"` // keyOf the composition
	Count int    `json:"n,omitempty"`
	// Open reports that the last run began and its result is unknown.
	Open bool `json:"open,omitempty"`
}

// Result is how a run ended.
type Result string

// The results of runs. The zero value is none of them.
const (
	Done        Result = "done"         // success, possibly without changes
	Looked      Result = "looked"       // the run only observed
	Failed      Result = "failed"       // failed; completed changes are kept
	CheckFailed Result = "check-failed" // all changes are done, but a check failed
	RolledBack  Result = "rolled-back"
	Broken      Result = "broken" // the compilation failed; an attempt with the same input is useless
	Locked      Result = "locked" // another process has the lock, a run waits for its confirmation, or no slot is free
	Frozen      Result = "frozen"
	Stopped     Result = "stopped" // the agent is ending
)

// Outcome is the result of a run, with details for each module.
type Outcome struct {
	Result  Result
	Run     int // number of the run in the history; 0 if nothing was recorded
	Changes int
	Error   string
	// Duration is the time that the run took; 0 if nothing was recorded.
	Duration time.Duration
	// FrozenUntil is the end of the freeze that refused the run, in ns since 1970; 0: none.
	FrozenUntil int64
	// Undo reports that the policy of the repository undoes failed runs.
	Undo bool
	// Parts contains the modules with a problem, by directory; "" is the root bundle. All other
	// modules are in sync.
	Parts map[string]Part
	// Checked reports that all checks ran after the last change. Without it, a successful run does
	// not show that an earlier failure is over.
	Checked bool
	// Repaired is the number of repaired addresses.
	Repaired int
	Facts    map[string]string
	Exports  []exported.Own // sorted
}

// Part is the result of a run for one module.
type Part struct {
	Error string // the first error
	Left  int    // number of changes that did not run
	Drift int    // number of addresses that are still drifted
	Waits string // the missing values of other targets
}

// Cause is the reason for a run.
type Cause string

// The causes of runs.
const (
	Assigned Cause = "assigned" // a new composition
	Retry    Cause = "retry"    // another attempt after a failure
	Start    Cause = "start"    // the agent started
	Ordered  Cause = "asked"    // a user ordered it
	Noticed  Cause = "noticed"  // a managed object may have changed
	Sweep    Cause = "sweep"    // a periodic check
)

// AcceptedJob is a job with a command, or an attempt of a task. It is stored until a hub has its result. Its start is
// durable before the command begins, so that no command runs twice.
type AcceptedJob struct {
	Job   fleet.Job `json:"do"`
	Begun bool      `json:"begun,omitempty"`
	// Received is the time of the receipt of an attempt of a task, in ns since 1970.
	Received int64 `json:"received,omitempty"`
	// Tries is the number of attempts that found the host locked.
	Tries int `json:"tries,omitempty"`
	// Answer is the result; nil while the job has not ended.
	Answer *fleet.JobAnswer `json:"done,omitempty"`
}

// Binary describes the running binary.
type Binary struct {
	// Arch is the architecture of the host, as Go names it; "": this binary cannot be replaced.
	Arch string
	// Digest is the digest of a binary that a hub chose, "" for the binary of the package.
	Digest string
	// Trial reports that this binary is on trial: it is replaced by the previous one unless it
	// reaches a hub.
	Trial bool
	// Failed is the last binary that failed. Why is the reason.
	Failed fleet.Binary
	// FailedDigest is the digest of its file, "" if none failed.
	FailedDigest string
	Why          string
}
