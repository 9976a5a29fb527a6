package local

import (
	"context"
	"fmt"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// WatchUnits implements host.UnitWatcher. Only the message bus forwards changes, so it uses a
// separate connection.
func (u *units) WatchUnits(ctx context.Context, each func(name string)) error {
	c, err := dbus.NewConnection(func() (*godbus.Conn, error) { return connect(busSocket, true) })
	if err != nil {
		return fmt.Errorf("cannot reach systemd over D-Bus: %w", err)
	}
	defer c.Close()
	updates, wrong := make(chan *dbus.PropertiesUpdate, 1024), make(chan error, 1)
	c.SetPropertiesSubscriber(updates, wrong)
	if err := c.Subscribe(); err != nil {
		return fmt.Errorf("cannot subscribe to changes of units: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case up := <-updates:
			each(up.UnitName)
		case <-wrong: // too many updates at a time; the next poll finds the change
		}
	}
}
