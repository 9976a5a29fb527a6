//go:build !target

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/render"
)

func newAlarm(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "alarm",
		Short: "List and approve blocked changes",
		Args:  args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAlarmList(s), newAlarmApprove(s))
	return c
}

func newAlarmList(s *session) *cobra.Command {
	var w watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the alarms about assignments",
		Example: "  fettle alarm list\n  fettle alarm list --watch",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			var st document.Status
			return showing(c.Context(), s.printer, w, func(hub *client.Client) (p document.AlarmPage, err error) {
				if st, err = client.Get(c.Context(), hub, route.Status()); err == nil {
					p, err = client.Get(c.Context(), hub, route.Alarms())
				}
				return p, err
			}, func(s *printer, p document.AlarmPage) { showAlarms(s, p, st) })
		},
	}
	w.flag(c)
	return c
}

// showAlarms shows the alarms about assignments. Problems of targets are not alarms: it names the
// command that shows them.
func showAlarms(s *printer, p document.AlarmPage, st document.Status) {
	var unwell []string
	for _, name := range []document.State{document.Failed, document.Unresponsive, document.Drifted} {
		if n := st.States[name]; n > 0 {
			unwell = append(unwell, fmt.Sprintf("%d %s", n, name))
		}
	}
	if len(unwell) > 0 {
		defer s.printf("\nTargets: %s. See which: fettle status --fleet\n", strings.Join(unwell, ", "))
	}
	if len(p.Alarms) == 0 {
		s.printf("There are no alarms.\n")
		return
	}
	for i, a := range p.Alarms {
		if i > 0 {
			s.printf("\n")
		}
		about := ""
		if a.Count > 0 {
			about = fmt.Sprintf(" of %s", strings.Join(a.Targets, ", "))
			if more := a.Count - len(a.Targets); more > 0 {
				about += fmt.Sprintf(" and %d more", more)
			}
		}
		s.printf("%s%s\n  %s\n", a.Kind, render.Escape(about), render.Escape(a.Text))
		if a.Digest != "" {
			s.printf("  If this is intended: fettle alarm approve %s\n", a.Digest)
		}
	}
}

func newAlarmApprove(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "approve DIGEST",
		Short: "Approve a change that an alarm blocks",
		Long: `Approves the change of an alarm that fettle alarm list shows. The digest
identifies exactly the targets of the alarm. If these targets change, the alarm
has a different digest and needs another approval. An approval is valid for one
day.`,
		Example: "  fettle alarm approve sha256:2f5c…",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := s.hub()
			if err != nil {
				return err
			}
			d, err := client.Post(c.Context(), hub, route.ApproveAlarm(), document.ApprovalRequest{Digest: a[0]})
			if err != nil {
				return err
			}
			return s.done("approve", 0, d.Text)
		},
	}
}
