// Package fault breaks a host on purpose, at one mutating operation after another, so that tests
// can check the state after each possible interruption.
//
//	for n := 1; ; n++ {
//		plan := &fault.Plan{At: n, Err: syscall.ENOSPC}
//		h := fault.Wrap(mem.New(mem.Options{}), plan)
//		err := work(h)
//		… look at what is there …
//		if !plan.Hit() {
//			break // the work has fewer operations
//		}
//	}
//
// Wrap works with any driver. Counters for a driver's own Count option are in Recorder and KillAt.
package fault

import (
	"errors"
	"sync"
)

// ErrCrashed is the error of every operation, including reads, after a Plan with Crash took effect:
// the host has no power.
var ErrCrashed = errors.New("the host has crashed")

// OpRead is the name of all operations that change nothing; see Plan.Reads.
const OpRead = "read"

// Plan determines which operation fails and how. The zero Plan breaks nothing. Use a new Plan for
// each run. It is safe for concurrent use.
type Plan struct {
	// At is the mutating operation that fails, from 1; 0 is none.
	At int
	// Only counts just the operations of this name (host.Op…); "" counts all.
	Only string
	// Err is the error of the operation, which is then not done, for example syscall.ENOSPC.
	Err error
	// Sticky makes every later operation fail as well.
	Sticky bool
	// Short makes a failing Write write the first half before it fails.
	Short bool
	// Reads also counts operations that only read the host, under the name OpRead, and lets them
	// fail. Only Wrap supports it.
	Reads bool
	// Crash makes the operation, and all after it, return ErrCrashed.
	Crash bool

	mu  sync.Mutex
	n   int
	hit bool
}

// Hit reports whether the planned fault occurred.
func (p *Plan) Hit() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hit
}

// Seen is how many operations were counted.
func (p *Plan) Seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

// Count counts an operation and returns its error. It is a host.OperationHook, for drivers that accept
// one. The fault is then the same except for Short, and reads continue after a crash.
func (p *Plan) Count(op, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hit && p.Crash {
		return ErrCrashed
	}
	if p.Only != "" && p.Only != op {
		return nil
	}
	p.n++
	if p.At == 0 || p.n < p.At || (p.n > p.At && !p.Sticky) {
		return nil
	}
	p.hit = true
	if p.Crash {
		return ErrCrashed
	}
	return p.Err
}

// alive is the error of an operation that changes nothing.
func (p *Plan) alive() error {
	if p.Reads {
		return p.Count(OpRead, "")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hit && p.Crash {
		return ErrCrashed
	}
	return nil
}
