package agent

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// ErrNever is in the chain of an error of Content or Binaries if another attempt cannot succeed:
// the content is unsigned, forged or older than allowed. Other errors can be temporary.
var ErrNever = errors.New("the content is rejected permanently")

// Content stores the bundles of assignments. Its methods can be called from any goroutine.
type Content interface {
	// Fetch fetches the missing bundles of an assignment and verifies all of its bundles. If no
	// bundle is missing, it sends no request. It can be called again after any error.
	Fetch(ctx context.Context, a fleet.Assignment) error
	// Tree returns the tree of a target, composed from stored bundles. absent names modules of the
	// target to leave out. The caller must call closing after the last use of the tree.
	Tree(a fleet.Assignment, absent []string) (tree repo.Tree, closing func() error, err error)
	// Retain names the bundles that are still needed, by digest. It can delete all others.
	Retain(digests []string) error
}

// Watcher reports changes of files and units on the host.
type Watcher interface {
	// Watch replaces the set of watched paths and units. After an error the watch is incomplete,
	// and the agent must check for changes periodically.
	Watch(m Managed) error
	// Run calls touched after changes, once for all changes within a moment, from one goroutine. It
	// returns when ctx ends.
	Run(ctx context.Context, touched func()) error
}

// Managed is the set of paths and units to watch.
type Managed struct {
	Paths []string // files, directories and links, absolute
	// WholeDirectories lists directories in which every new or removed entry matters.
	WholeDirectories []string
	Units            []string
}

// NoWatcher is a Watcher without any watch. Its Watch returns the error Reason.
type NoWatcher struct{ Reason string }

// Watch implements Watcher.
func (n NoWatcher) Watch(Managed) error { return errors.New(n.Reason) }

// Run implements Watcher.
func (NoWatcher) Run(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}
