package fleet

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

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
  fettle target list --supervisor vm1
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
	c.Flags().StringVar(&q.Supervisor, "supervisor", "", "only targets that run in guests of this `TARGET`")
	c.Flags().StringVar(&q.By, "by", "", "only counts of targets, in `GROUPS`: all, fleet, module, scope or label:NAME")
	c.Flags().StringVar(&q.After, "after", "", "the targets after this `CURSOR` of an earlier answer in the same order")
	cli.LimitOrAllFlag(c, &q.Limit, 0, "targets")
	w.Flag(c)
	return c
}
