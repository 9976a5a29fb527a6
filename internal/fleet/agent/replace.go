package agent

import (
	"context"
	"errors"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// ErrReplace is what Run ends with when another program is to go on in its place.
var ErrReplace = errors.New("another program takes the place of this one")

// ErrSame is in the chain of an error of Prepare for the program that runs.
var ErrSame = errors.New("this is that program already")

// Binaries replaces the program that this agent is.
type Binaries interface {
	// Prepare gets a program and has it tried by whoever goes on when this one leaves.
	// ErrNever is in the chain of the error where there is no use in trying again.
	Prepare(ctx context.Context, p fleet.Binary) error
	// Settled writes down, durably, that this program does well.
	Settled() error
}

func (a *Agent) prepare(ctx context.Context, p fleet.Binary) {
	e := machine.Prepared{Digest: p.Files[a.cfg.Machine.Binary.Arch].Digest, Version: p.Version}
	err := errors.New("this program cannot be replaced")
	if a.cfg.Binaries != nil {
		err = a.cfg.Binaries.Prepare(ctx, p)
	}
	e.Same, e.Never = errors.Is(err, ErrSame), errors.Is(err, ErrNever)
	if err != nil && !e.Same {
		e.Error = err.Error()
	}
	a.post(ctx, e)
}
