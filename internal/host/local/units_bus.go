package local

import (
	"context"
	"net"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

const (
	managerSocket = "/run/systemd/private"
	busSocket     = "/run/dbus/system_bus_socket"
	// callLimit is the time limit of calls that systemd answers from memory, so that a hanging
	// manager is an error.
	callLimit = 30 * time.Second
	// reloadLimit is for a daemon-reload, which runs generators.
	reloadLimit = 2 * time.Minute
	// greetLimit bounds getting a connection.
	greetLimit = 5 * time.Second
)

// dial connects to systemd's own socket, which answers root also while the
// message bus restarts, and to the bus where that cannot be.
func dial() (*dbus.Conn, error) {
	if os.Geteuid() == 0 {
		c, err := dbus.NewConnection(func() (*godbus.Conn, error) { return connect(managerSocket, false) })
		if err == nil {
			return c, nil
		}
	}
	return dbus.NewConnection(func() (*godbus.Conn, error) { return connect(busSocket, true) })
}

// connect opens a socket and authenticates; a message bus also needs a hello.
func connect(socket string, hello bool) (*godbus.Conn, error) {
	sock, err := net.DialTimeout("unix", socket, greetLimit)
	if err != nil {
		return nil, err
	}
	_ = sock.SetDeadline(time.Now().Add(greetLimit))
	c, err := godbus.NewConn(sock)
	if err == nil {
		err = c.Auth(nil)
	}
	if err == nil && hello {
		err = c.Hello()
	}
	if err != nil {
		_ = sock.Close()
		return nil, err
	}
	_ = sock.SetDeadline(time.Time{})
	return c, nil
}

// pin keeps systemd from unloading a unit, with the result of its last start, until the release. It
// needs the message bus. Without the bus, the result of a unit that ends at once is unknown.
func pin(ctx context.Context, name string) (release func()) {
	c, err := connect(busSocket, true)
	if err != nil {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, greetLimit)
	defer cancel()
	manager := c.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	// A unit that cannot be loaded cannot be pinned; its start reports the reason.
	_ = manager.CallWithContext(ctx, "org.freedesktop.systemd1.Manager.RefUnit", 0, name).Err
	return func() { _ = c.Close() }
}
