package host

import "context"

// UnitWatcher is a Units that can tell which unit changes.
type UnitWatcher interface {
	// WatchUnits calls each with the name of a unit whenever systemd says that it has
	// changed, from one goroutine, until ctx ends or systemd cannot be heard any more.
	// It holds a connection of its own.
	WatchUnits(ctx context.Context, each func(name string)) error
}
