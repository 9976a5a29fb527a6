package agent

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// ErrReplace is the result of Run if a different binary must continue instead of this process.
var ErrReplace = errors.New("a different version of the agent replaces this one")

// ErrSame is in the chain of an error of Prepare if this binary already runs.
var ErrSame = errors.New("this version already runs")

// Binaries replaces the binary of this agent.
type Binaries interface {
	// Prepare fetches and installs a binary, to be tried by the next process after this one ends.
	// ErrNever is in the chain of the error if another attempt is useless.
	Prepare(ctx context.Context, p fleet.Binary) error
	// Settled records durably that this binary works.
	Settled() error
}

func (a *Agent) prepare(ctx context.Context, p fleet.Binary) {
	e := machine.Prepared{Digest: p.Files[a.cfg.Machine.Binary.Arch].Digest, Version: p.Version}
	err := errors.New("this agent was configured without upgrades")
	if a.cfg.Binaries != nil {
		err = a.cfg.Binaries.Prepare(ctx, p)
	}
	e.Same, e.Never = errors.Is(err, ErrSame), errors.Is(err, ErrNever)
	if err != nil && !e.Same {
		e.Error = err.Error()
	}
	a.post(ctx, e)
}
