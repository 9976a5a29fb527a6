package agent

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// ErrNever is in the chain of an error of Content about bundles that may never be used:
// unsigned, forged or older than allowed. Others may go away by themselves.
var ErrNever = errors.New("the content is not to be used")

// Content has the bundles of assignments. Its methods may be called from any goroutine.
type Content interface {
	// Fetch gets what is missing of an assignment, and verifies all of it. It asks
	// nobody when nothing is missing. It may be called again after any error.
	Fetch(ctx context.Context, a fleet.Assignment) error
	// Tree composes the tree of a target from bundles that are there. absent are the
	// modules that the target has, and that take no part. The caller closes it when
	// nothing reads the tree any more.
	Tree(a fleet.Assignment, absent []string) (tree repo.Tree, closing func() error, err error)
	// Retain says which bundles are needed, by digest. Others may go.
	Retain(digests []string) error
}

// Watcher tells what changes on the machine.
type Watcher interface {
	// Watch replaces what is watched. The error says what cannot be: that is then seen
	// only by looking.
	Watch(m Managed) error
	// Run calls touched after something has changed, once for all that changes within a
	// moment, from one goroutine, until ctx ends.
	Run(ctx context.Context, touched func()) error
}

// Managed is what can be watched.
type Managed struct {
	Paths []string // files, directories and links, absolute
	// Whole are directories in which whatever comes and goes matters.
	Whole []string
	Units []string
}

// Nobody is a Watcher that sees nothing; Why says so to whoever asks it to watch.
type Nobody struct{ Why string }

// Watch implements Watcher.
func (n Nobody) Watch(Managed) error { return errors.New(n.Why) }

// Run implements Watcher.
func (Nobody) Run(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}
