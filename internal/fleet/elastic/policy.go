package elastic

import (
	"fmt"
	"time"
)

// Mode is the effect of decisions. The zero value is Off.
type Mode string

// Modes.
const (
	Off     Mode = ""        // no decisions
	Propose Mode = "propose" // an operator performs the decisions
	Act     Mode = "act"     // the leading hub performs them
)

// Limits are the load at which a hub is full.
type Limits struct {
	Connections int     // agents
	CPU         float64 // part of the CPUs, from 0 to 1
	EventLag    int64   // events
	Handshakes  int     // waiting connections
}

// Policy contains the limits of a fleet. DefaultPolicy returns the usual values.
type Policy struct {
	Mode     Mode `json:"mode,omitempty"`
	Min, Max int  // number of hubs
	Voters   int  // maximum number of voters: 1, 3 or 5

	// The load of a hub is its largest number in proportion to its limit.
	Limits Limits
	// DiskFree is the part of the disk that must be free.
	DiskFree float64
	// The size grows if the mean load is at least High for GrowAfter. It shrinks if the load would be less than Low with
	// fewer hubs for ShrinkAfter.
	High, Low              float64
	GrowAfter, ShrinkAfter time.Duration

	// Interval is the minimum time between two changes. ShrinkInterval is the same before a hub is emptied.
	Interval, ShrinkInterval time.Duration
	FailAfter                time.Duration // time until a hub has failed
	ReadyWithin              time.Duration // time in which a nominee must be ready
	EmptyWithin              time.Duration // maximum time for which a hub moves its agents
	RetryAfter               time.Duration // time until a node that failed or retired can be nominated again
}

// Fixed times.
const (
	// FreshFor is the time for which a heartbeat of a hub is valid.
	FreshFor = 15 * time.Second
	// MaxGap is the maximum time between two decisions. After a longer time, waiting times begin again.
	MaxGap = time.Minute
	// VoteWithin is the time for a change of voters. Afterwards another change is possible.
	VoteWithin = 2 * time.Minute
)

// DefaultPolicy returns the values of a fleet that sets none. Decisions are off.
func DefaultPolicy() Policy {
	return Policy{Min: 1, Max: 5, Voters: 5,
		Limits: Limits{Connections: 10_000, CPU: 0.8, EventLag: 10_000, Handshakes: 200}, DiskFree: 0.05,
		High: 0.8, Low: 0.5, GrowAfter: 20 * time.Second, ShrinkAfter: 30 * time.Minute,
		Interval: 10 * time.Second, ShrinkInterval: 5 * time.Minute, FailAfter: 5 * time.Minute,
		ReadyWithin: 2 * time.Minute, EmptyWithin: 10 * time.Minute, RetryAfter: time.Hour}
}

// Check returns an error if the values are not possible.
func (p Policy) Check() error {
	switch {
	case p.Mode != Off && p.Mode != Propose && p.Mode != Act:
		return fmt.Errorf("cannot have the mode %.40q: it is %q or %q", p.Mode, Propose, Act)
	case p.Min < 1 || p.Max < p.Min:
		return fmt.Errorf("cannot have from %d to %d hubs: the minimum is at least 1, and at most the maximum", p.Min, p.Max)
	case p.Voters != 1 && p.Voters != 3 && p.Voters != 5:
		return fmt.Errorf("cannot have up to %d voters: the number is 1, 3 or 5", p.Voters)
	case p.Limits.Connections < 1 || p.Limits.CPU <= 0 || p.Limits.EventLag < 1 || p.Limits.Handshakes < 1:
		return fmt.Errorf("cannot have a load limit of zero")
	case p.DiskFree < 0 || p.DiskFree >= 1:
		return fmt.Errorf("cannot require that %g of the disk is free: the number is from 0 to 1", p.DiskFree)
	case p.Low <= 0 || p.High <= p.Low:
		return fmt.Errorf("cannot have a low load of %g and a high load of %g: the low load must be the smaller one",
			p.Low, p.High)
	case p.FailAfter <= FreshFor:
		return fmt.Errorf("cannot treat a hub as failed after %s: the minimum is more than %s", p.FailAfter, FreshFor)
	}
	for _, d := range []time.Duration{p.GrowAfter, p.ShrinkAfter, p.Interval, p.ShrinkInterval, p.ReadyWithin,
		p.EmptyWithin, p.RetryAfter} {
		if d <= 0 {
			return fmt.Errorf("cannot have a waiting time of %s: it must be positive", d)
		}
	}
	return nil
}
