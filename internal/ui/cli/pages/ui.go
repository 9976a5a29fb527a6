// Package pages has the command ui, which shows the fleet in a browser.
//
//	command := pages.New(session)
package pages

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/web"
)

// New builds the command ui.
func New(s *cli.Session) *cobra.Command {
	port := 0
	c := &cobra.Command{
		Use:   "ui",
		Short: "Show the fleet in a browser",
		Long: `Serves pages that show the fleet in a browser on this machine: its targets,
modules, rollouts, alarms, jobs, events, hubs and the audit log. It prints their
address, and serves them until you stop it.

The pages use your login to the hub, and have your rights: they can show and
change nothing that fettle cannot. Only this machine can open them. The address
contains a code that works once, so that other users of this machine cannot use
your login. On another machine, forward the port: ssh -L 7480:127.0.0.1:7480.`,
		Example: "  fettle ui\n  fettle ui --port 7480",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return serve(c.Context(), s, port) },
	}
	cli.NumberVar(c.Flags(), &port, "port", 0, 0, "the `PORT` of the loopback address; 0 is any unused port")
	return c
}

// serve serves the pages until ctx ends.
func serve(ctx context.Context, s *cli.Session, port int) error {
	if port > 65535 {
		return cli.Misused(cli.Refuse("Use a port from 1024 to 65535", "cannot use --port: the largest port is 65535"))
	}
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	if _, err := client.Get(ctx, hub, route.WhoAmI()); err != nil {
		return err
	}
	return web.ServeLocal(ctx, hub, port, func(address string) {
		s.Printf("Open this address in a browser on this machine. It works once:\n\n  %s\n\n", address)
		s.Printf("Ctrl-C ends the pages.\n")
	})
}
