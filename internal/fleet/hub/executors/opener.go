// Package executors opens streams from users to the executors of targets.
//
//	o := executors.New(executors.Config{Exchange: exchange, Trusted: registry.Trusted, …})
//	stream, err := o.OpenExecutor(ctx, by, id, changes)
//
// A target that is not connected, or whose agent does not answer in time, is a refusal that names the
// next step. Each call opens a new stream. The stream ends with the connection of the agent, with the
// request of the user, or with the hub.
package executors

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Config contains what an Opener needs of its hub.
type Config struct {
	Exchange fleet.Exchange
	Timeout  time.Duration // for the first answer of an agent
	// Trusted returns a target that may be used.
	Trusted func(context.Context, fleet.TargetID) (fleet.Target, error)
	// MissingHubs returns an error if a hub does not answer: the agent may be connected to it.
	MissingHubs func(context.Context) error
}

// Opener opens executors. It is safe for concurrent use: opened and reads have their own locks.
type Opener struct {
	Config
	opened opened
	reads  reads
}

// New returns an opener.
func New(c Config) *Opener { return &Opener{Config: c} }
