package host

import (
	"context"
	"errors"
)

// ErrUsesNetwork: a program that was isolated from the network sent something into it, so
// that its answer is not the one that it gives on the host.
var ErrUsesNetwork = errors.New("it uses the network")

// Isolator is a host that can run programs so that they do not change its files.
type Isolator interface {
	// Isolate gives a view of the host. It is ErrUnsupported with the reason where the
	// host cannot give one. With network, its programs reach the network as usual; without,
	// they reach nothing. The caller closes it.
	Isolate(network bool) (Isolated, error)
}

// Isolated is a view of a host whose programs read the files of the host. What they write
// is seen by programs of the same view only, and is discarded with it.
type Isolated interface {
	// Run is Run of the host. The error is ErrUsesNetwork if the result does not count
	// because the program wanted the network.
	Run(ctx context.Context, c Command) (CommandResult, error)
	Close() error
}
