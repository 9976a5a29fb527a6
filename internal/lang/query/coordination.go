package query

import (
	"fmt"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/lang/syntax"
)

// Coordination contains the barriers, signals and organizations that a repository declares, in the order of
// declaration.
type Coordination struct {
	Barriers      []Barrier
	Signals       []Signal
	Organizations []source.Organization
}

// Barrier is a point at which targets wait until enough members have arrived.
type Barrier struct {
	Name         string
	Members      []string // names of targets, sorted
	Quorum       string   // all, a number, or a percentage such as "80%"
	OfflineAfter int64    // seconds; 0: members that are offline always count
	AlarmAfter   int64    // seconds for which a member waits before an alarm is raised; 0: no alarm
}

// Signal is a named message for which states wait.
type Signal struct {
	Name    string
	Senders []string // names of the targets that can send, sorted
	Keep    int64    // seconds
}

// Waits returns the barriers, signals and organizations of a repository. They are empty if a label of a target has an
// error.
func Waits(p *source.Program) (out Coordination, ds diag.List) {
	r := &syntax.Reports{}
	all := indexTargets(p, r)
	waves := barrierWaves{p: p, labels: all.labels}
	selected := func(what, name string, s *source.Selector, at diag.Range) []string {
		out := all.selected(s)
		if len(out) > source.MaxMembers {
			r.Errorf(at, "Too many targets", "The %s %q selects %d targets. The maximum is %d.", what, name, len(out),
				source.MaxMembers)
		}
		return out
	}
	for _, b := range p.Barriers {
		out.Barriers = append(out.Barriers, Barrier{Name: b.Name, Quorum: b.Quorum, OfflineAfter: b.OfflineAfter,
			AlarmAfter: b.AlarmAfter, Members: selected("barrier", b.Name, &b.Members, b.Range)})
		waves.warn(r, b, out.Barriers[len(out.Barriers)-1].Members)
	}
	for _, s := range p.Signals {
		x := Signal{Name: s.Name, Keep: s.Keep}
		if s.Senders != nil {
			x.Senders = selected("signal", s.Name, s.Senders, s.Range)
		}
		out.Signals = append(out.Signals, x)
	}
	for _, o := range p.Organizations {
		own := *o
		own.Range = diag.Range{}
		out.Organizations = append(out.Organizations, own)
	}
	if r.List.HasErrors() {
		out = Coordination{}
	}
	return out, source.Finish(p, r.List)
}

// Valid reports an error in a Coordination that another process made.
func (c Coordination) Valid() error {
	barriers, signals := map[string]bool{}, map[string]bool{}
	inTime := func(n int64) bool { return n >= source.MinWaitTime && n <= source.MaxWaitTime }
	for _, b := range c.Barriers {
		if !source.ValidWait(b.Name, b.Members) || barriers[b.Name] || !source.ValidQuorum(b.Quorum) ||
			b.OfflineAfter != 0 && !inTime(b.OfflineAfter) || b.AlarmAfter != 0 && !inTime(b.AlarmAfter) {
			return fmt.Errorf("the barrier %.80q is not valid", b.Name)
		}
		barriers[b.Name] = true
	}
	for _, s := range c.Signals {
		if !source.ValidWait(s.Name, s.Senders) || signals[s.Name] || !inTime(s.Keep) {
			return fmt.Errorf("the signal %.80q is not valid", s.Name)
		}
		signals[s.Name] = true
	}
	organizations := map[string]bool{}
	for _, o := range c.Organizations {
		if err := o.Valid(); err != nil || organizations[o.Name] {
			return fmt.Errorf("the organization %.80q is not valid: %w", o.Name, err)
		}
		organizations[o.Name] = true
	}
	if len(organizations) > source.MaxOrganizations {
		return fmt.Errorf("%d organizations are too many", len(organizations))
	}
	if len(barriers) > source.MaxBarriers || len(signals) > source.MaxSignals {
		return fmt.Errorf("%d barriers and %d signals are too many", len(barriers), len(signals))
	}
	return nil
}
