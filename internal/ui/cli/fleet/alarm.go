package fleet

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

// NewAlarm builds the command alarm, to list and approve blocked changes.
func NewAlarm(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "alarm",
		Short: "List and approve blocked changes",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAlarmList(s), newAlarmApprove(s))
	return c
}

func newAlarmList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the alarms about assignments",
		Example: "  fettle alarm list\n  fettle alarm list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			var st document.Status
			return hubclient.Showing(c.Context(), s.Printer, w, func(hub *client.Client) (p document.AlarmPage, err error) {
				if st, err = client.Get(c.Context(), hub, route.Status()); err == nil {
					p, err = client.Get(c.Context(), hub, route.Alarms())
				}
				return p, err
			}, func(s *cli.Printer, p document.AlarmPage) { showAlarms(s, p, st) })
		},
	}
	w.Flag(c)
	return c
}

// showAlarms shows the alarms about assignments. Problems of targets are not alarms: it names the
// command that shows them.
func showAlarms(s *cli.Printer, p document.AlarmPage, st document.Status) {
	var unwell []string
	for _, name := range []document.State{document.Failed, document.Unresponsive, document.Drifted} {
		if n := st.States[name]; n > 0 {
			unwell = append(unwell, fmt.Sprintf("%d %s", n, name))
		}
	}
	if len(unwell) > 0 {
		defer s.Printf("\nTargets: %s. See which: fettle status --fleet\n", strings.Join(unwell, ", "))
	}
	if len(p.Alarms) == 0 {
		s.Printf("There are no alarms.\n")
		return
	}
	for i, a := range p.Alarms {
		if i > 0 {
			s.Printf("\n")
		}
		about := ""
		if a.Count > 0 {
			about = fmt.Sprintf(" of %s", strings.Join(a.Targets, ", "))
			if more := a.Count - len(a.Targets); more > 0 {
				about += fmt.Sprintf(" and %d more", more)
			}
		}
		s.Printf("%s%s\n  %s\n", a.Kind, render.Escape(about), render.Escape(a.Text))
		if a.Digest != "" {
			s.Printf("  If this is intended: fettle alarm approve %s\n", a.Digest)
		}
	}
}

func newAlarmApprove(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "approve DIGEST",
		Short: "Approve a change that an alarm blocks",
		Long: `Approves the change of an alarm that fettle alarm list shows. The digest
identifies exactly the targets of the alarm. If these targets change, the alarm
has a different digest and needs another approval. An approval is valid for one
day.`,
		Example: "  fettle alarm approve sha256:2f5c…",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := hubclient.HubOf(s.Printer)
			if err != nil {
				return err
			}
			d, err := client.Post(c.Context(), hub, route.ApproveAlarm(), document.ApprovalRequest{Digest: a[0]})
			if err != nil {
				return err
			}
			return s.Done("approve", 0, d.Text)
		},
	}
}
