// Package verb says what the verbs of the step language mean: for each, how to
// read what is at its address, what will be there, and how to get from the one
// to the other. Verbs are the only code that touches a machine, and they do it
// through host.Host.
//
//	v := verbs.For(s.Verb)
//	now, err := v.Observe(ctx, env, s)
//	to, err := v.Target(s, now, env.Names)   // pure
//	if !now.Same(to) { … v.(verb.Mover).Move(ctx, env, s, now, to) … }
//
// Undo is the same move with the images exchanged. Two small interfaces say how
// a verb acts: Pather for those that change one path, which the engine does in
// crash-safe batches, and Mover for all others.
package verb

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
)

// Env is what a verb works with. It is used by one run at a time.
type Env struct {
	Host    host.Host
	Store   capture.Objects
	Digests capture.Digests // may be nil
	Names   Names
	// Progress tells a person what is being waited for; never nil.
	Progress func(string)
	// Note tells a person, now and in the report, what a step found or left
	// that is not its own; never nil.
	Note func(string)
	// Claimed tells whether a step of the list wants a package. Such a package never
	// goes along with another. Nil where no list counts.
	Claimed func(pkg string) bool
	// Brought are the packages that came along with those that fettle installed. They go
	// with whichever removal leaves them unneeded.
	Brought []string
	// Guard asks a guard whether its command is done; network tells that the step declares
	// that its guards need the network. The error is a NotAskedError if the guard is not asked
	// now. Nil runs guards on the host, as a run does.
	Guard func(ctx context.Context, c host.Command, network bool) (host.CommandResult, error)
	// Output takes what a command gives to later steps; nil where nobody asks.
	Output func(string)
}

// Names turns the names of the host's accounts into numbers and back.
type Names interface {
	UID(name string) (uint32, error) // UnknownNameError when there is none
	GID(name string) (uint32, error)
	UserName(uid uint32) string // the number as text when there is none
	GroupName(gid uint32) string
}

// UnknownNameError: no such account on the host, or not yet.
type UnknownNameError struct{ What, Name string }

func (e *UnknownNameError) Error() string {
	return fmt.Sprintf("there is no %s %q on this host; make it with a %s step before this one", e.What, e.Name, map[string]string{"user": "USER", "group": "GROUP"}[e.What])
}

// Verb reads and decides. Implementations hold no state.
type Verb interface {
	// Observe reads enough of the step's address to compare. It changes
	// nothing. The image may be unknown (zero) where only the record of
	// earlier runs can tell.
	Observe(ctx context.Context, e Env, s step.Step) (image.Image, error)
	// Target is what the step leaves where now was found: a pure function.
	// What the step does not speak of stays as it is. When now is as wanted,
	// the result is the same as now.
	Target(s step.Step, now image.Image, n Names) (image.Image, error)
}

// Pather is a verb that changes one path.
type Pather interface {
	// PathTarget is Target for the path itself, from everything that was
	// captured there; content that it makes goes into e.Store. to is the
	// image that the address should have: the step's target, or one that is
	// being put back.
	PathTarget(ctx context.Context, e Env, s step.Step, now capture.Taken, to image.Image) (image.File, error)
}

// Mover is a verb that changes something else than a path.
type Mover interface {
	// Move changes the address from one image to the other. It is idempotent:
	// where the address is as in to already, it changes nothing.
	Move(ctx context.Context, e Env, s step.Step, from, to image.Image) error
}

// Reversible is a verb some of whose steps cannot be taken back.
type Reversible interface {
	// Irreversible says in one sentence why going from one image to the other
	// cannot be undone, "" when it can.
	Irreversible(s step.Step, from, to image.Image) string
}

// Group is a Mover that does many steps in one transaction.
type Group interface {
	MoveAll(ctx context.Context, e Env, moves []*GroupMove) error
}

// GroupMove is one step of a transaction.
type GroupMove struct {
	Step     step.Step
	From, To image.Image
	// Also is set on the first move of a transaction that MoveAll ran: other
	// packages that it changed, name to version before.
	Also map[string]string
	// Stays: it is as wanted already, and takes part so that it remains so.
	Stays bool
	// Hold: fettle decides about the hold of the package, by this step or the one before.
	Hold bool
	// Undo: the run that made the change is being undone. An interrupted apt may not
	// have marked what came along as dependencies, so a missing mark tells nothing.
	Undo bool
}

// NotYetError is a target that cannot be told now and perhaps can after an
// earlier step of the same run: Need is missing.
type NotYetError struct {
	Err  error
	Need addr.Addr
}

func (e *NotYetError) Error() string { return e.Err.Error() }
func (e *NotYetError) Unwrap() error { return e.Err }

// NotAskedError is a guard that is not asked now. What it says is known at its turn.
type NotAskedError struct{ Why string }

func (e *NotAskedError) Error() string { return "the guard was not run: " + e.Why }

// InTheWayError is a thing at Path that keeps the step from being told, unless
// an earlier step of the same run takes it away.
type InTheWayError struct {
	Path string
	Err  error
}

// TakenError is a number that another account has, unless an earlier step of the same
// run gives that account another one, or removes it.
type TakenError struct {
	By  addr.Addr
	Err error
}

func (e *TakenError) Error() string { return e.Err.Error() }
func (e *TakenError) Unwrap() error { return e.Err }

// InTheWay tells a planner which account must change to cure the error.
func (e *TakenError) InTheWay() addr.Addr { return e.By }

func (e *InTheWayError) Error() string { return e.Err.Error() }
func (e *InTheWayError) Unwrap() error { return e.Err }

// InTheWay tells a planner which path must change to cure the error.
func (e *InTheWayError) InTheWay() addr.Addr { return addr.File(e.Path) }

// Needs tells a planner what an earlier change has to provide to cure the error.
func (e *NotYetError) Needs() addr.Addr { return e.Need }

// NotYetf makes a NotYetError.
func NotYetf(need addr.Addr, format string, args ...any) error {
	return &NotYetError{fmt.Errorf(format, args...), need}
}

// Needs tells a planner which account an earlier change has to provide.
func (e *UnknownNameError) Needs() addr.Addr { return addr.New(addr.Kind(e.What), e.Name) }
