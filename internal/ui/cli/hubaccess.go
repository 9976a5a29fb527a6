package cli

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/workspace"
)

// HubAccess reaches targets through the hub of the user, for one command line. Its methods may be
// called by several goroutines.
type HubAccess interface {
	// Open opens the repository for the targets of -t. It adds the targets of the fleet to the repository
	// if the hub selects them.
	Open(ctx context.Context) (*workspace.Source, error)
	// Connect connects to a target through the hub.
	Connect(ctx context.Context, name string) (Remote, error)
	// Selected returns the targets that the hub selects with -t.
	Selected(ctx context.Context) ([]query.Target, error)
}

// noHub is the access of a binary that knows no hubs.
type noHub struct{ s *Session }

func (n noHub) Open(ctx context.Context) (*workspace.Source, error) {
	return n.s.OpenSource(ctx, n.s.Rev)
}

func (noHub) Connect(context.Context, string) (Remote, error) { return nil, errNoHub() }

func (noHub) Selected(context.Context) ([]query.Target, error) { return nil, errNoHub() }

func errNoHub() error {
	return errors.New("cannot go through a hub: this is the binary for targets. Use your workstation, or the hub")
}
