// Package fleet has the commands for a fleet: for its targets, jobs and approvals.
//
//	cli.Group{Commands: []cli.NewCommand{fleet.NewTarget, fleet.NewJob}}
package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewTarget builds the command target, to targets of the fleet, and hosts over SSH.
func NewTarget(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "target",
		Short: "Targets of the fleet, and hosts over SSH",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:   "delete-binary",
		Short: "Delete fettle's binary from a host that is reached over SSH",
		Long: `Deletes the binary that the first contact stored on the host, in the cache of
the account. The state directory still contains the records of all runs, so they
can still be undone: the next contact copies the binary again.`,
		Example: "  fettle target delete-binary -t web1\n  fettle target delete-binary --ssh ann@web1",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return deleteTargetBinary(c.Context(), s) },
	})
	c.AddCommand(targetCommands(s)...)
	return c
}

func deleteTargetBinary(ctx context.Context, s *cli.Session) error {
	if s.Target == "" && s.ConnectOpts.SSH == "" {
		return cli.Refuse("Run: fettle target delete-binary -t TARGET", "cannot delete the binary: no target is named")
	}
	a, err := s.Address(ctx, s.Target)
	switch {
	case err != nil:
		return err
	case a.Host == "":
		return cli.Refuse("See how to reach targets: docs/ssh.md",
			fmt.Sprintf("cannot delete the binary of %q: it has no SSH address", s.Target))
	case s.App.SSH.Forget == nil:
		return errors.New("cannot reach other hosts: this binary was built without SSH")
	}
	if err := s.App.SSH.Forget(ctx, a.Address, s.SSHOptions()); err != nil {
		return err
	}
	state := s.State
	if state == "" {
		state = "/var/lib/fettle"
	}
	return s.Done("delete-binary", 0,
		fmt.Sprintf("The binary was deleted from %s. The history of the host, and the data to undo its runs, remain in %s.",
			a, state))
}

// targetCommands are the commands of fettle target that call a hub.
func targetCommands(s *cli.Session) []*cobra.Command {
	return []*cobra.Command{
		newTargetList(s), newTargetShow(s), newTargetHistory(s), newTargetEnrol(s), newTargetApprove(s), newTargetLabel(s),
		newTargetMove(s),
		newTargetPin(s), newTargetUnpin(s),
		newTargetFreeze(s), newTargetUnfreeze(s), newTargetSuspect(s), newTargetTrust(s), newTargetRetire(s),
		newTargetRevoke(s),
	}
}

func newTargetShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "show TARGET",
		Short:   "Show a target: its assignment, its applied modules, and waits",
		Example: "  fettle target show web1\n  fettle target show web1 --json",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Target(), route.TargetName{Target: a[0]}, showTarget)
		},
	}
	w.Flag(c)
	return c
}
