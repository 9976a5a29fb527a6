// Package fleet has the commands for a fleet: for its targets, jobs and approvals.
//
//	cli.Group{Commands: []cli.NewCommand{fleet.NewTarget, fleet.NewJob}}
package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
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

func newTargetList(s *cli.Session) *cobra.Command {
	var q route.TargetQuery
	var w hubclient.Watching
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "list",
		Short: "List the targets of the fleet",
		Long: `Lists the targets with their states. If several states apply to a target, the
list shows the worst state. The states, from worst to best:

  cloned         several hosts have the identity of the target.
  failed         a run or a module failed.
  unresponsive   no hub received a message from the agent for too long.
  drifted        the host differs from the applied state.
  unknown        the agent has not sent a report yet.
  frozen         a freeze prevents changes.
  deferred       a module must not be applied before its scheduled time.
  applying       a run is in progress.
  blocked        a module waits for another module or a value of another
                 target.
  unassigned     the hub has not created the first assignment yet.
  pending        a part of the assignment is not applied yet.
  ready          the whole assignment is applied, and its checks pass.

The state not-in-fleet means that the target is not active, because it was
retired or revoked, for example.`,
		Example: `  fettle target list
  fettle target list -t 'label:env=prod' --sort state
  fettle target list --by label:env`,
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			words, err := hubclient.SelectedOnHub(s)
			if err != nil {
				return err
			}
			if q.Select = words; q.By != "" && q.Limit == 0 {
				q.Limit = 1 // the counts are of all targets
			}
			var alarms document.AlarmPage
			return hubclient.Showing(c.Context(), s.Printer, w, func(hub *client.Client) (document.TargetPage, error) {
				p, err := client.GetAt(c.Context(), hub, route.Targets(), q)
				if err == nil && !s.JSON {
					alarms, err = wholeFleet(c.Context(), hub, route.Alarms(), route.None{})
				}
				return p, err
			}, func(s *cli.Printer, p document.TargetPage) { showTargets(s, p, alarms.Alarms) })
		},
	})
	c.Flags().StringVar(&q.Sort, "sort", "name",
		"order by this `FIELD`: name, state, contact, drift, behind or changed; - before the field reverses the order")
	c.Flags().BoolVar(&q.All, "all", false, "also show retired and revoked targets")
	c.Flags().StringVar(&q.State, "in-state", "", "only targets in this `STATE`")
	c.Flags().StringVar(&q.By, "by", "", "only counts of targets, in `GROUPS`: all, fleet, module, scope or label:NAME")
	c.Flags().StringVar(&q.After, "after", "", "the targets after this `CURSOR` of an earlier answer in the same order")
	cli.LimitOrAllFlag(c, &q.Limit, 0, "targets")
	w.Flag(c)
	return c
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
