package hub

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/hub/hubtasks"
	"fettle.dev/fettle/internal/ui/cli"
)

func newHubTasks(s *cli.Session, h *Hub) *cobra.Command {
	t := TasksRun{Socket: hubtasks.Socket, User: hubUser}
	c := &cobra.Command{
		Use:   "tasks",
		Short: "Run tasks of the repository for the hub on this host",
		Long: `Runs the commands of tasks that hubs do, in the foreground: tasks of scopes of
the kind universe. The repository defines these commands, so they run only on a
host on which this command runs. Run it on the host of each hub, because the
leading hub does the tasks.

Commands run as the user of this process. It must not be root or the user of the
hub, because they could read the keys of the hub. The service fettle-hub-tasks
runs this command as a user of its own.

If the host has the file /etc/fettle/allowed_signers, the hub does only tasks of
commits that a key in it signed.`,
		Example: "  systemctl enable --now fettle-hub-tasks\n  fettle hub tasks --socket /run/tasks/socket --hub-user hub",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return hubTasks(c.Context(), s.Printer, h, t) },
	}
	c.Flags().StringVar(&t.Socket, "socket", t.Socket, "accept tasks at the socket `FILE`")
	c.Flags().StringVar(&t.User, "hub-user", t.User, "accept tasks of the hub that runs as `USER`")
	return c
}

func hubTasks(ctx context.Context, s *cli.Printer, h *Hub, t TasksRun) error {
	if h == nil || h.RunTasks == nil {
		return errors.New("cannot run tasks: this binary was built without support for hubs")
	}
	serving := h.Serving
	t.Ready = func() {
		serving(true)
		fmt.Fprintf(s.App.Stdout, "running tasks of the hub of the user %s, on %s\n", t.User, t.Socket)
	}
	return h.RunTasks(ctx, t)
}
