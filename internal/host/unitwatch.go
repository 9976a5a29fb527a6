package host

import "context"

// UnitWatcher is a Units that can report which unit changes.
type UnitWatcher interface {
	// WatchUnits calls each with the name of a unit whenever systemd reports its change, from one
	// goroutine. It ends when ctx ends or the connection to systemd is lost. It has its own
	// connection.
	WatchUnits(ctx context.Context, each func(name string)) error
}
