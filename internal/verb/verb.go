// Package verb defines the verbs of the step language: for each, how to read the state of its
// address, what its target state is, and how to get there. Verbs are the only code that accesses a
// host, and they use host.Host.
//
//	v := verbs.For(s.Verb)
//	now, err := v.Observe(ctx, env, s)
//	to, err := v.Target(s, now, env.Names)   // pure
//	if !now.Same(to) { … v.(verb.Mover).Move(ctx, env, s, now, to) … }
//
// Undo is the same move with the images exchanged. Two small interfaces define how a verb acts.
// Pather is for verbs that change one path, which the engine does in crash-safe batches. Mover is
// for all other verbs.
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

// Env is the environment of a verb. Only one run uses it at a time.
type Env struct {
	Host    host.Host
	Store   capture.Objects
	Digests capture.Digests // may be nil
	Names   Names
	// Progress reports to the user what the verb does or waits for; never nil.
	Progress func(host.Progress)
	// Note reports unmanaged files that a step found or left to the user, now and in the report;
	// never nil.
	Note func(string)
	// Claimed returns the packages that the list requires; the value is true if a package must be
	// installed. Such a package is never removed as a consequence of another removal. Nil if there is
	// no list.
	Claimed func() map[string]bool
	// Brought are the packages that were installed with packages that fettle installed. A removal
	// that makes them unneeded removes them too.
	Brought []string
	// Guard runs a guard; network is set if the step declares that its guards need the network. The
	// error is a NotAskedError if the guard must not run now. Nil runs guards on the host, as a run
	// does.
	Guard func(ctx context.Context, c host.Command, network bool) (host.CommandResult, error)
	// Output receives the output of a command for later steps; nil if it is not needed.
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
	return fmt.Sprintf("there is no %s %q on this host; create it with a %s step before this one", e.What, e.Name,
		map[string]string{"user": "USER", "group": "GROUP"}[e.What])
}

// Verb reads and decides. Implementations hold no state.
type Verb interface {
	// Observe reads the parts of the step's address that are needed to compare. It changes nothing.
	// The image can be unknown (zero) if only the record of earlier runs has it.
	Observe(ctx context.Context, e Env, s step.Step) (image.Image, error)
	// Target returns the state after the step, starting from now: a pure function. Properties that
	// the step does not name stay unchanged. If now is in sync, the result equals now.
	Target(s step.Step, now image.Image, n Names) (image.Image, error)
}

// Pather is a verb that changes one path.
type Pather interface {
	// PathTarget is Target for the path itself, from the complete captured file; it puts new
	// content into e.Store. to is the desired image of the address: the step's target, or an image
	// to restore.
	PathTarget(ctx context.Context, e Env, s step.Step, now capture.Taken, to image.Image) (image.File, error)
}

// Mover is a verb that changes an address other than a path.
type Mover interface {
	// Move changes the address from one image to the other. It is idempotent: if the address
	// already equals to, it changes nothing.
	Move(ctx context.Context, e Env, s step.Step, from, to image.Image) error
}

// Reversible is a verb with some steps that cannot be undone.
type Reversible interface {
	// Irreversible returns one sentence that explains why the change between two images cannot be
	// undone, "" if it can.
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
	// AlsoChanged is set on the first move of a transaction that MoveAll ran: other
	// packages that it changed, name to version before.
	AlsoChanged map[string]string
	// InSync: it is already in sync, and takes part to remain so.
	InSync bool
	// Hold is set if fettle manages the hold of the package, by this step or the previous one.
	Hold bool
	// Undo is set if the run that made the change is being undone. An interrupted apt may not have
	// marked additional packages as dependencies, so a missing mark proves nothing.
	Undo bool
}

// NotYetError is a target that is unknown now, and perhaps known after an earlier step of the same
// run: Need is missing.
type NotYetError struct {
	Err  error
	Need addr.Addr
}

func (e *NotYetError) Error() string { return e.Err.Error() }
func (e *NotYetError) Unwrap() error { return e.Err }

// NotAskedError means that a guard does not run now. Its result is determined immediately before
// the command.
type NotAskedError struct{ Why string }

func (e *NotAskedError) Error() string { return "the guard was not run: " + e.Why }

// InTheWayError is a file at Path that prevents the target from being determined, unless an earlier
// step of the same run removes it.
type InTheWayError struct {
	Path string
	Err  error
}

// TakenError is a number that another account has, unless an earlier step of the same run changes
// that number or removes the account.
type TakenError struct {
	By  addr.Addr
	Err error
}

func (e *TakenError) Error() string { return e.Err.Error() }
func (e *TakenError) Unwrap() error { return e.Err }

// InTheWay returns the account that must change to fix the error.
func (e *TakenError) InTheWay() addr.Addr { return e.By }

func (e *InTheWayError) Error() string { return e.Err.Error() }
func (e *InTheWayError) Unwrap() error { return e.Err }

// InTheWay returns the path that must change to fix the error.
func (e *InTheWayError) InTheWay() addr.Addr { return addr.File(e.Path) }

// Needs returns the address that an earlier change must provide to fix the error.
func (e *NotYetError) Needs() addr.Addr { return e.Need }

// NotYetf makes a NotYetError.
func NotYetf(need addr.Addr, format string, args ...any) error {
	return &NotYetError{fmt.Errorf(format, args...), need}
}

// Needs returns the account that an earlier change must provide.
func (e *UnknownNameError) Needs() addr.Addr { return addr.New(addr.Kind(e.What), e.Name) }
