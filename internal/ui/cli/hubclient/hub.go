// Package hubclient finds the hub of the user, and asks it: for documents that a command shows once or
// again after each change, for the targets of -t, and for connections to their agents.
//
//	hub, err := hubclient.HubOf(s.Printer)
package hubclient

import (
	"strings"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/ui/cli"
)

// HubOf returns the hub for fleet commands: the hub of the login, otherwise the hub on this machine.
func HubOf(s *cli.Printer) (*client.Client, error) {
	l, err := LoginOf(s)
	if err != nil {
		return nil, err
	}
	return ClientOf(s, l)
}

// OwnHub returns a client of the hub on this machine, also if the user has a login at another hub. A
// socket is always on this machine. hint is for the case that no hub runs here.
func OwnHub(s *cli.Printer, do, hint string) (*client.Client, error) {
	if l, err := LoginOf(s); err == nil && strings.HasPrefix(l.Hub, "unix://") {
		return ClientOf(s, l)
	}
	if !cli.FileExists(socketOfHub(s)) {
		return nil, cli.Refuse(hint, "cannot "+do+" the hub of this host: no hub runs here")
	}
	return ClientOf(s, client.Login{Hub: "unix://" + socketOfHub(s)})
}

// ClientOf is a client that reports on standard error while a hub does not answer.
func ClientOf(s *cli.Printer, l client.Login) (*client.Client, error) {
	c, err := client.NewAt(l, s.App.Now)
	if err == nil {
		c.OnWait(func() func() { return WhileWaiting(s, "waiting for an answer of the hub at "+l.Hub) })
	}
	return c, err
}
