package fleet

import (
	"errors"
	"fmt"
	"time"
)

// ReportFormat is the supported format.
const ReportFormat = "fettle.report/1"

// MaxReport is the maximum size of a report, in bytes.
const MaxReport = 256 << 10

// Report is one transition of a target, with the status after it. The agent stores it until a hub
// has acknowledged it. Seq identifies duplicates.
type Report struct {
	Format string   `json:"format"`
	Target TargetID `json:"target"`
	Seq    uint64   `json:"seq"`  // of the agent, from 1, without gaps, durable
	Boot   string   `json:"boot"` // the kernel's identity of the boot
	At     int64    `json:"at"`   // ns since 1970, the agent's clock
	Event  Event    `json:"event"`
	Status Status   `json:"status"`
	// Since means that the status has only the modules that differ from the report with this
	// number, which the receiving hub acknowledged last; 0 means that it has all modules.
	Since uint64 `json:"since,omitempty"`
}

// Part returns the report with only the modules that differ from the previous report. ok is false
// if the set of modules has changed, so that the whole report must be sent.
func (r Report) Part(before Report) (part Report, ok bool) {
	was, is := before.Status.Modules, r.Status.Modules
	if before.Seq == 0 || before.Seq+1 != r.Seq || before.Status.Epoch != r.Status.Epoch || len(was) != len(is) {
		return r, false
	}
	r.Status.Modules, r.Since = nil, before.Seq
	for i, m := range is {
		if m.Module != was[i].Module {
			return Report{}, false
		}
		if m != was[i] {
			r.Status.Modules = append(r.Status.Modules, m)
		}
	}
	return r, true
}

// EventKind is the kind of a transition.
type EventKind string

// The transitions that are reported.
const (
	Started         EventKind = "started"  // the agent started
	Accepted        EventKind = "accepted" // it accepted a new assignment
	Refused         EventKind = "refused"  // it refused an assignment: forged, foreign, older, unsigned
	Applied         EventKind = "applied"  // a run succeeded
	Failed          EventKind = "failed"   // a run failed
	RolledBack      EventKind = "rolled_back"
	Drifted         EventKind = "drifted"  // the host differs from the applied state
	Repaired        EventKind = "repaired" // the drift is repaired
	Waiting         EventKind = "waiting"  // a module waits for another module; this is not an error
	Ready           EventKind = "ready"    // everything assigned is ready, without a run; a run reports it itself
	Ran             EventKind = "ran"      // a command or action ran
	Upgraded        EventKind = "upgraded" // the binary of the agent was replaced or restored
	Checked         EventKind = "checked"  // results of checks of scopes changed
	ReportRequested EventKind = "told"     // a requested report, without a transition
)

// Event is the transition of a report.
type Event struct {
	Kind    EventKind `json:"kind"`
	Run     int       `json:"run,omitempty"`    // number in the target's history
	Module  string    `json:"module,omitempty"` // if it concerns one module
	Text    string    `json:"text,omitempty"`   // for display, without secrets
	Changes int       `json:"changes,omitempty"`
	Error   string    `json:"error,omitempty"`
	// Duration is the time that the run took on the host, in ns; 0 means unknown. RunTime checks it.
	Duration int64 `json:"duration_ns,omitempty"`
}

// MaxRunTime is the longest run time that counts. A longer one is unknown.
const MaxRunTime = 30 * 24 * time.Hour

// RunTime returns the run time of a run that ended. ok is false if the event is not the end of a recorded run, and if
// its duration is unknown or impossible: older agents do not report it, and a compromised host can report any number.
func (e Event) RunTime() (d time.Duration, ok bool) {
	switch e.Kind {
	case Applied, Failed, RolledBack, Repaired:
		d = time.Duration(e.Duration)
		return d, e.Run > 0 && d > 0 && d <= MaxRunTime
	}
	return 0, false
}

// Status is the state of a target.
type Status struct {
	Epoch      uint64         `json:"epoch"`
	Generation uint64         `json:"generation"` // accepted
	Version    string         `json:"version"`    // of the agent
	Modules    []ModuleStatus `json:"modules,omitempty"`
	Drift      int            `json:"drift"` // number of addresses that differ from the applied state
	Frozen     string         `json:"frozen,omitempty"`
	Run        int            `json:"run"`     // the newest
	Changed    int64          `json:"changed"` // ns since 1970, the last run that changed something
	// LastVerified is the newest assignment that was applied and whose checks all succeeded; nil if there
	// is none.
	LastVerified *AssignmentNumber `json:"proved,omitempty"`
	Error        string            `json:"error,omitempty"`
	// Facts are the facts that the catalog declares, by name, as text for display.
	Facts map[string]string `json:"facts,omitempty"`
	// Checks are the newest results of the checks that the target tests, sorted by scope and check.
	Checks []CheckResult `json:"checks,omitempty"`
	// Zone is the time zone of the host, as a name of the IANA database. It is "" if it is unknown, and if the agent is
	// too old to apply windows with window.TargetZone.
	Zone string `json:"zone,omitempty"`
	// Place has the guests of the host. nil: unknown, or the agent is too old to report it.
	Place *Place `json:"place,omitempty"`
}

// Readiness is the state of a module on a target.
type Readiness string

// States of a module. The zero value is unknown, which is not ready.
const (
	ModulePending  Readiness = "pending"  // assigned, not begun
	ModuleBlocked  Readiness = "blocked"  // waits for its needs
	ModuleApplying Readiness = "applying" // a run is active
	ModuleReady    Readiness = "ready"    // applied as assigned, checks succeed, no drift
	ModuleDrifted  Readiness = "drifted"
	ModuleFailed   Readiness = "failed"
	ModuleFrozen   Readiness = "frozen"   // the target is frozen, or its assignment was withdrawn
	ModuleDeferred Readiness = "deferred" // waits for the time of its assignment
)

// ModuleStatus is the state of one module on one target.
type ModuleStatus struct {
	Module string    `json:"module"`
	Commit string    `json:"commit"`           // applied; "" if it was never applied
	Bundle string    `json:"bundle,omitempty"` // digest, applied
	State  Readiness `json:"state"`
	Since  int64     `json:"since"`           // ns since 1970
	Waits  string    `json:"waits,omitempty"` // the module that it waits for, with its state, for display
	Error  string    `json:"error,omitempty"`
}

// ParseReport parses a report. It ignores unknown fields, which a newer agent may send.
func ParseReport(b []byte) (Report, error) {
	if len(b) > MaxReport {
		return Report{}, fmt.Errorf("cannot read a report of %d bytes: the maximum is %d", len(b), MaxReport)
	}
	var r Report
	if err := decodeReport(b, &r); err != nil {
		return Report{}, fmt.Errorf("cannot read a report: %w", err)
	}
	if r.Format != ReportFormat {
		return Report{}, fmt.Errorf("cannot read a report of the format %.40q: this version of fettle supports %s",
			r.Format, ReportFormat)
	}
	if r.Seq == 0 || r.Event.Kind == "" {
		return Report{}, errors.New("cannot read a report without a number or an event")
	}
	if r.Since >= r.Seq {
		return Report{}, fmt.Errorf("cannot read report %d as a part that follows report %d", r.Seq, r.Since)
	}
	_, err := ParseTargetID(string(r.Target))
	return r, err
}
