// Package leader computes the assignments of a fleet on the hub that holds the lease.
//
//	l := leader.New(leader.Config{Hub: "hub1", Records: table, Assignments: store, Repository: follower, …})
//	l.Watch()                // before the mirrors are followed
//	err := l.Stand(ctx)      // leads whenever this hub gets the lease
//	reasons, err := l.Because(ctx, id, "modules/web")
//
// While no hub leads, assignments stay as they are. After an error the computation is repeated. If the
// store does not answer a leader for 30 seconds, it gives up the lease. Each term begins a new epoch and
// computes everything again, so a term may be interrupted at any point. The fence in each record
// prevents that a former leader replaces a record of its successor.
package leader

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
)

// Assignments writes assignments. *assignments.Store implements it.
type Assignments interface {
	// Write signs and writes assignments, unless the store has records of a newer leader.
	Write(ctx context.Context, fence uint64, all []fleet.Assignment) error
	// ForgetShared is called at the begin of a term: another leader may have removed shared modules.
	ForgetShared()
	// PruneShared removes unused shared modules.
	PruneShared(ctx context.Context) error
}

// Repository is the repository that the fleet follows. *repository.Follower implements it.
type Repository interface {
	Repository() records.Repository
	// Follow polls until ctx ends, and calls answered after each poll.
	Follow(ctx context.Context, answered func()) error
	Pack(ctx context.Context, rev fleet.Revision, store *content.Store) ([]fleet.Assigned, error)
}

// Config contains what a Leader needs of its hub.
type Config struct {
	Hub  string // the name of the hub
	Now  func() time.Time
	Warn func(text string)

	Records     *records.Table
	Events      events.Recorder
	Assignments Assignments
	Repository  Repository
	// Author returns the author of a commit, NAME <MAIL>, or "" if it cannot be read.
	Author   func(ctx context.Context, rev fleet.Revision) string
	Content  *content.Store
	Rollouts *rollouts.Log
	// Observe returns the state of all targets, and Observed is closed when it changes.
	Observe func(ctx context.Context) (map[fleet.TargetID]document.Target, error)
	// Ready returns the targets on which a module is ready as assigned.
	Ready    func(ctx context.Context, module string) (map[fleet.TargetID]bool, error)
	Observed func() <-chan struct{}
	// IsAnyConnected reports whether any of the targets is connected.
	IsAnyConnected func([]fleet.TargetID) bool
	// Compile returns the targets of a tree, and Strategies its strategies of rollouts. SetMemberships gets the roles and
	// groups of the targets.
	Compile        func(repo.Tree) ([]query.Target, diag.List)
	Strategies     func(repo.Tree) ([]query.Strategy, diag.List)
	SetMemberships func(map[string]view.Memberships)
	Coordination
	// UnlessDismissed returns a context that also ends when this hub is retired.
	UnlessDismissed func(context.Context) (context.Context, context.CancelFunc)
	// Refollow is called when other commits of the repository become necessary.
	Refollow func()
	// Tasks are further tasks of the hub that leads. They run until their context ends.
	Tasks []func(ctx context.Context, fence uint64) error
}

// Coordination contains functions that compile the objects of a tree that coordinate targets. The Declare functions get
// the objects of the branch of the fleet.
type Coordination struct {
	Locks        func(repo.Tree) ([]source.Lock, diag.List)
	DeclareLocks func([]source.Lock)
	// Waits returns the barriers and signals of a tree.
	Waits        func(repo.Tree) (query.Coordination, diag.List)
	DeclareWaits func(query.Coordination)
	// DeclareScopes also gets the revision.
	Scopes        func(repo.Tree) (query.Scopes, diag.List)
	DeclareScopes func(at fleet.Revision, all query.Scopes)
}
