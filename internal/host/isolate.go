package host

import (
	"context"
	"errors"
)

// ErrUsesNetwork: a program without access to the network tried to send data, so that its result
// can differ from the result on the host.
var ErrUsesNetwork = errors.New("it uses the network")

// Isolator is a host that can run programs so that they do not change its files.
type Isolator interface {
	// Isolate gives a view of the host. It is ErrUnsupported with the reason where the
	// host cannot give one. With network, its programs reach the network as usual; without,
	// they reach nothing. The caller closes it.
	Isolate(network bool) (Isolated, error)
}

// Isolated is a view of a host whose programs can read the files of the host. Only programs of the
// same view can read their writes, which are discarded with the view.
type Isolated interface {
	// Run is Run of the host. The error is ErrUsesNetwork if the result is invalid because the
	// program tried to use the network.
	Run(ctx context.Context, c Command) (CommandResult, error)
	Close() error
}
