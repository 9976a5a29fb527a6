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
	// Isolate returns a view of the host. If the host does not support it, the error is
	// ErrUnsupported with the reason. With network, its programs have normal access to the network;
	// otherwise they have none. The caller must close it.
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
