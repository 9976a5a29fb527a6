// Package pages has the command ui, which shows the fleet or this host in a browser.
//
//	command := pages.New(session)
package pages

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/web"
)

// New builds the command ui.
func New(s *cli.Session) *cobra.Command {
	port, onHost, socket := 0, false, ""
	c := &cobra.Command{
		Use:   "ui",
		Short: "Show the fleet, or this host, in a browser",
		Long: `Serves pages that show the fleet in a browser on this machine: its targets,
modules, rollouts, alarms, jobs, events, hubs and the audit log. It prints their
address, and serves them until you stop it.

Without a login to a hub, or with --host, the pages show this host: its runs and
their changes, its drift, the plan of the repository in this directory, and
rollbacks. They can apply the plan, and show the progress. The command needs the
rights of fettle apply, so use sudo. When you stop it during a run, the run
stops after its present step.

The pages of a fleet use your login to the hub, and have your rights: they can
show and change nothing that fettle cannot. Only this machine can open them. The
address contains a code that works once, so that other users of this machine
cannot use the pages. On another machine, forward the port:
ssh -L 7480:127.0.0.1:7480.

With --socket, the pages have no port, but a socket that only root and you can
use. Forward a port of your workstation to it:
ssh -L 7480:/run/fettle-ui.sock root@HOST.`,
		Example: "  fettle ui\n  fettle ui --port 7480\n  sudo fettle ui --host\n" +
			"  sudo fettle ui --host --socket /run/fettle-ui.sock",
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if port > 65535 {
				return cli.Misused(cli.Refuse("Use a port from 1024 to 65535", "cannot use --port: the largest port is 65535"))
			}
			if socket != "" && c.Flags().Changed("port") {
				return cli.Misused(cli.Refuse("Omit --port: the tunnel has the port", "cannot use --port with --socket"))
			}
			config, err := site(c, s, onHost || !hubclient.Reachable(s.Printer))
			if err != nil {
				return err
			}
			if socket != "" {
				return serveSocket(c.Context(), s, config, socket)
			}
			return serve(c.Context(), s, config, port)
		},
	}
	cli.NumberVar(c.Flags(), &port, "port", 0, 0, "the `PORT` of the loopback address; 0 is any unused port")
	c.Flags().StringVar(&socket, "socket", "", "serve the pages at a socket in this `FILE`, instead of a port")
	c.Flags().BoolVar(&onHost, "host", false, "show this host, without a hub")
	return c
}

// site returns the pages of this host, or of the fleet.
func site(c *cobra.Command, s *cli.Session, onHost bool) (web.Config, error) {
	if onHost {
		return hostSite(c, s)
	}
	if err := cli.AllowOnly(c, "of a fleet"); err != nil {
		return web.Config{}, err
	}
	hub, err := hubclient.HubOf(s.Printer)
	if err == nil {
		_, err = client.Get(c.Context(), hub, route.WhoAmI())
	}
	return web.Config{Client: web.Always(hub)}, err
}

// serve serves the pages until ctx ends.
func serve(ctx context.Context, s *cli.Session, config web.Config, port int) error {
	return web.ServeLocal(ctx, config, port, func(address string) {
		s.Printf("Open this address in a browser on this machine. It works once:\n\n  %s\n\n", address)
		s.Printf("Ctrl-C ends the pages.\n")
	})
}

// serveSocket serves the pages at a socket until ctx ends.
func serveSocket(ctx context.Context, s *cli.Session, config web.Config, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	l, err := local.ListenOwn(ctx, path)
	if err != nil {
		return cli.WithHint(err, "Use a directory to which only you can write, such as /run for root")
	}
	return web.ServeSocket(ctx, config, l, func(at string) {
		s.Printf("Forward a port of your workstation to the socket:\n\n  ssh -L 7480:%s HOST\n\n", path)
		s.Printf("Then open this address there. It works once:\n\n  http://127.0.0.1:7480%s\n\nCtrl-C ends the pages.\n", at)
	})
}
