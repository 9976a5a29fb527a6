package fleet

import (
	"errors"
	"fmt"
)

// ReportFormat is the format that this program writes and reads.
const ReportFormat = "fettle.report/1"

// MaxReport bounds a report as it travels, in bytes.
const MaxReport = 256 << 10

// Report is one transition of a target, and what it is since. The agent keeps it until
// a hub has said that it is durable; who gets it twice takes the one with the number.
type Report struct {
	Format string   `json:"format"`
	Target TargetID `json:"target"`
	Seq    uint64   `json:"seq"`  // of the agent, from 1, without a gap, durable
	Boot   string   `json:"boot"` // identity of the boot, of the kernel
	At     int64    `json:"at"`   // ns since 1970, the agent's clock
	Event  Event    `json:"event"`
	Status Status   `json:"status"`
	// Since says that the status has only the modules that are other than in the report of
	// this number, which the hub that gets this one was the last to acknowledge; 0 is all.
	Since uint64 `json:"since,omitempty"`
}

// Part gives the report with only the modules that are other than in the one before it; ok is
// false for one that has to be told whole, since there are other modules by now.
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

// EventKind is what happened.
type EventKind string

// The transitions that are reported.
const (
	Started    EventKind = "started"  // the agent began
	Accepted   EventKind = "accepted" // it took a new assignment
	Refused    EventKind = "refused"  // it did not: forged, foreign, older, unsigned
	Applied    EventKind = "applied"  // a run succeeded
	Failed     EventKind = "failed"   // a run did not
	RolledBack EventKind = "rolled_back"
	Drifted    EventKind = "drifted"  // something is other than applied
	Repaired   EventKind = "repaired" // and is as applied again
	Waiting    EventKind = "waiting"  // a module waits for another; no error
	Ready      EventKind = "ready"    // all that is assigned is ready, and no run made it so: one that does says it itself
	Ran        EventKind = "ran"      // a command or action ran
	Upgraded   EventKind = "upgraded" // this program was replaced, or put back
	Told       EventKind = "told"     // nothing happened: somebody asked for a report
)

// Event is what a report tells.
type Event struct {
	Kind    EventKind `json:"kind"`
	Run     int       `json:"run,omitempty"`    // of the target's history
	Module  string    `json:"module,omitempty"` // where it is about one
	Text    string    `json:"text,omitempty"`   // for people, without secrets
	Changes int       `json:"changes,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// Status is what a target is.
type Status struct {
	Epoch      uint64         `json:"epoch"`
	Generation uint64         `json:"generation"` // accepted
	Version    string         `json:"version"`    // of the agent
	Modules    []ModuleStatus `json:"modules,omitempty"`
	Drift      int            `json:"drift"` // addresses that are not as applied
	Frozen     string         `json:"frozen,omitempty"`
	Run        int            `json:"run"`     // the newest
	Changed    int64          `json:"changed"` // ns since 1970, the last run that changed something
	// Proved is the newest assignment of which a run was done and every check held; nil: none.
	Proved *AssignmentNumber `json:"proved,omitempty"`
	Error  string            `json:"error,omitempty"`
	// Facts are those that the catalog declares, by name, as text for people.
	Facts map[string]string `json:"facts,omitempty"`
}

// Readiness is where a module stands on a target.
type Readiness string

// Where a module stands. The zero value is unknown, which is not ready.
const (
	ModulePending  Readiness = "pending"  // assigned, not begun
	ModuleBlocked  Readiness = "blocked"  // waits for what it needs
	ModuleApplying Readiness = "applying" // a run is under way
	ModuleReady    Readiness = "ready"    // applied as assigned, checks hold, no drift
	ModuleDrifted  Readiness = "drifted"
	ModuleFailed   Readiness = "failed"
	ModuleFrozen   Readiness = "frozen"   // the target is frozen, or its assignment was withdrawn
	ModuleDeferred Readiness = "deferred" // waits for the time of its assignment
)

// ModuleStatus is one module on one target.
type ModuleStatus struct {
	Module string    `json:"module"`
	Commit string    `json:"commit"`           // applied; "" when none ever was
	Bundle string    `json:"bundle,omitempty"` // digest, applied
	State  Readiness `json:"state"`
	Since  int64     `json:"since"`           // ns since 1970
	Waits  string    `json:"waits,omitempty"` // for what, with its state, for people
	Error  string    `json:"error,omitempty"`
}

// ParseReport reads one. It ignores fields that it does not know, of a newer agent.
func ParseReport(b []byte) (Report, error) {
	if len(b) > MaxReport {
		return Report{}, fmt.Errorf("cannot read a report of %d bytes: %d are the most", len(b), MaxReport)
	}
	var r Report
	if err := decodeReport(b, &r); err != nil {
		return Report{}, fmt.Errorf("cannot read a report: %w", err)
	}
	if r.Format != ReportFormat {
		return Report{}, fmt.Errorf("cannot read a report of the format %.40q: this program knows %s", r.Format, ReportFormat)
	}
	if r.Seq == 0 || r.Event.Kind == "" {
		return Report{}, errors.New("cannot read a report without number or event")
	}
	if r.Since >= r.Seq {
		return Report{}, fmt.Errorf("cannot read report %d as a part that follows report %d", r.Seq, r.Since)
	}
	_, err := ParseTargetID(string(r.Target))
	return r, err
}
