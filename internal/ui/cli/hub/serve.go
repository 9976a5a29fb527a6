// Package hub has the commands that run and manage the hubs of a fleet.
//
//	newHub := func(s *cli.Session) *cobra.Command { return hub.New(s, binary) }
package hub

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/hub/hubtasks"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// New builds the command hub, to run and manage hubs. h runs this binary as a hub, and nil means that it cannot.
func New(s *cli.Session, h *Hub) *cobra.Command {
	c := &cobra.Command{
		Use:   "hub",
		Short: "Run and manage hubs",
		Long: `Runs and manages hubs. A hub follows a repository, assigns the desired state to
each target of a fleet, and shows the state of the targets. The fettle binary
contains everything that a hub needs, and one directory contains all its data.
Targets get their assignments from the hub, and then work without it.`,
		Example: "  fettle hub init --fleet acme --repository https://git.example.org/site.git\n  fettle hub run",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newHubInit(s, h), newHubRun(s, h), newHubToken(s), newHubJoin(s, h), newHubList(s), newHubRetire(s),
		newHubCheck(s), newHubBackup(s, h), newHubRestore(s, h), newHubChown(s, h), newHubTasks(s, h))
	return c
}

func newHubRun(s *cli.Session, h *Hub) *cobra.Command {
	r := HubRun{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a hub in the foreground",
		Long: `Runs a hub in the foreground: serves agents and users until SIGTERM or SIGINT.
On this host root needs no login: commands use a socket that only root and
the user of the hub can open.

If root runs this command, it continues as the owner of the directory of the
hub. As a service, it refuses a directory of root: see fettle hub chown.

For a hub that was created with --nats, you can give other addresses and
credentials of the NATS cluster. They are stored in the directory of the hub.`,
		Example: "  fettle hub run\n  fettle hub run --dir /srv/hub\n" +
			"  fettle hub run --nats tls://nats4.example.org:4222 --nats-creds new.creds",
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return hubRun(c.Context(), s.Printer, h, r) },
	}
	c.Flags().StringVar(&r.Dir, "dir", hubDir, "the directory of the hub: the `DIR` of fettle hub init")
	c.Flags().StringVar(&r.Socket, "socket", hubclient.HubSocket,
		"accept commands of root on this host at the socket `FILE`")
	c.Flags().StringVar(&r.TaskSocket, "task-socket", hubtasks.Socket,
		"let fettle hub tasks at the socket `FILE` run tasks")
	r.nats.flag(c.Flags())
	return c
}

func hubRun(ctx context.Context, s *cli.Printer, h *Hub, r HubRun) error {
	if h == nil {
		return errors.New("cannot run a hub: this binary was built without support for hubs")
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	r.Dir = dir
	given, err := r.nats.given()
	if err != nil {
		return err
	}
	if err := runHubAs(s, h, dir, r.Socket); err != nil {
		return err
	}
	if err := useNats(s, h, dir, given, false); err != nil {
		return err
	}
	serving := h.Serving
	r.Stopped = func() { serving(false) }
	r.Ready = func(api, bus fmt.Stringer) {
		serving(true)
		fmt.Fprintf(s.App.Stdout, "serving users on %s, agents on %s, and commands of root on %s\n", api, bus, r.Socket)
	}
	r.Warn = func(text string) { fmt.Fprintln(s.App.Stderr, "warning: "+text) }
	return h.Run(ctx, r)
}
