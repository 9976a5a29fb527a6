package machine

import (
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/window"
)

// Machine is the state machine of an agent. It must be used by one goroutine.
type Machine struct {
	*core
	assignments *assignments
	binaries    *binaries
	checks      *checks
	exporter    *exporter
	jobs        *jobs
	renewal     *renewal
	reports     *reports
	runs        *runs
}

// core is the state that several parts read: the stored state, the current step, and the timers.
type core struct {
	StoredState
	cfg Config

	now     Now // time of the current step
	actions []Action
	changed bool // Kept must be written

	up          bool
	seq         uint64 // number of the newest report
	running     *Run
	replacing   replacing
	fetched     order  // assignment whose bundles are all stored
	bad         order  // assignment that cannot be compiled
	localFreeze string // user who froze the host, and the reason; "" if not frozen
	refused     string // last reported refusal
	windows     windows

	due      [timers]time.Duration
	failures [timers]int // number of consecutive failures of the operation of each timer
	dice     uint64
}

// assignments accepts assignments and fetches their content.
type assignments struct {
	*core
	exporter *exporter
	asking   bool
	fetching bool
}

// binaries replaces the binary of the agent.
type binaries struct{ *core }

// checks reports results of checks of scopes.
type checks struct {
	*core
	read   *fleet.Assignment // composition whose checks are tested
	absent []string
	sent   []fleet.CheckResult // in the newest report
	told   []fleet.CheckResult // in the newest event about checks, or at the start of the process
}

// exporter sends the exported values of the host.
type exporter struct {
	*core
	sharing bool // exported values are in transit
	// known are the exported values that a hub acknowledged on this connection. steady is the time
	// for which changed values must be stable before they are sent.
	known  []exported.Own
	steady time.Duration
	shared time.Duration // when exported values were last sent
}

// jobs accepts jobs and runs their commands.
type jobs struct {
	*core
	renewal   *renewal
	acting    *fleet.Job // the job whose command runs
	informing bool
	ending    bool // the process ends; no new work begins
}

// renewal renews the certificate of the agent.
type renewal struct {
	*core
	cert     Certificate
	renewing bool
}

// reports numbers reports and sends them until a hub has acknowledged them.
type reports struct {
	*core
	binaries *binaries
	checks   *checks
	acked    uint64
	sending  bool
	wasReady bool
	zone     *string      // of the host at the last step; nil: none
	place    *fleet.Place // of the host at the last step, if zone is set
}

// runs decides when the agent runs, and judges the results.
type runs struct {
	*core
	assignments *assignments
	exporter    *exporter
	runFor      order  // the accepted assignment when the run began
	blind       string // why the watch is incomplete, "" if it is complete
	told        fleet.Event
	touched     bool
	started     bool // the first run of this process is due
}

// newMachine connects the parts of a machine.
func newMachine(c *core) *Machine {
	m := &Machine{core: c, binaries: &binaries{c}, checks: &checks{core: c}, exporter: &exporter{core: c},
		renewal: &renewal{core: c}}
	m.assignments = &assignments{core: c, exporter: m.exporter}
	m.jobs = &jobs{core: c, renewal: m.renewal}
	m.reports = &reports{core: c, binaries: m.binaries, checks: m.checks}
	m.runs = &runs{core: c, assignments: m.assignments, exporter: m.exporter}
	return m
}

// windows evaluates the windows of the accepted assignment. A state is valid for some time, because the evaluation is
// too slow for each step.
type windows struct {
	of       order
	zone     string // of the host
	set      window.Set
	state    window.State
	from, to int64 // the state is valid from one time to the other, in ns since 1970; 0: none
}

// replacing is the state of an upgrade of the agent.
type replacing struct {
	asked     *fleet.Binary // binary that an unreadable assignment requires
	preparing bool
	settled   bool
	leaving   bool
	left      bool
}
