package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

func newRolloutApprove(s *cli.Session) *cobra.Command {
	return newApproval(s, false, &cobra.Command{
		Use:   "approve ROLLOUT [GATE]",
		Short: "Approve the current wave of a rollout",
		Long: `Approves a rollout at a gate of its current wave. Name the gate if the wave has
several approvals. The approval counts for this wave only, and only until a
target fails again. It needs the right approve.`,
		Example: "  fettle rollout approve r7\n  fettle rollout approve r7 'change board' --reason 'ticket 4711'",
	})
}

func newRolloutReject(s *cli.Session) *cobra.Command {
	return newApproval(s, true, &cobra.Command{
		Use:   "reject ROLLOUT [GATE]",
		Short: "Reject a rollout at a gate of its current wave",
		Long: `Rejects a rollout at a gate of its current wave. The rollout stops as after too
many failures: by default, all targets that have the change return to their
previous content. It needs the right approve.`,
		Example: "  fettle rollout reject r7 --reason 'the window is too short'",
	})
}

func newApproval(s *cli.Session, reject bool, c *cobra.Command) *cobra.Command {
	r := document.GateApprovalRequest{Reject: reject}
	c.Args = cli.Args(1, 2)
	c.RunE = func(c *cobra.Command, a []string) error {
		if len(a) > 1 {
			r.Gate = a[1]
		}
		return callRollout(c, s, route.ApproveRollout(), a[0], r)
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newRolloutVerdict(s *cli.Session) *cobra.Command {
	var r document.VerdictRequest
	c := &cobra.Command{
		Use:   "verdict ROLLOUT GATE pass|fail|error",
		Short: "Report the verdict of a webhook gate",
		Long: `Reports the verdict of a program, such as a pipeline, about the current wave of
a rollout. The gate must be a webhook. With fail the rollout stops as after too
many failures, unless the gate tolerates the failure.`,
		Example: "  fettle rollout verdict r7 tests pass --reason 'build 4711'",
		Args:    cli.Args(3, 3),
		RunE: func(c *cobra.Command, a []string) error {
			r.Gate, r.Verdict = a[1], a[2]
			return callRollout(c, s, route.JudgeRollout(), a[0], r)
		},
	}
	cli.ReasonFlag(c, &r.Reason)
	return c
}

// callRollout sends a change of a rollout, and shows the answer.
func callRollout[In any](c *cobra.Command, s *cli.Session, to route.Route[route.RolloutID, In, document.Done],
	id string, in In) error {
	hub, err := hubclient.HubOf(s.Printer)
	if err != nil {
		return err
	}
	d, err := client.Call(c.Context(), hub, to, route.RolloutID{Rollout: id}, in)
	if err != nil {
		return err
	}
	return hubclient.ShowDocument(s.Printer, d, func() { s.Printf("%s\n", d.Text) })
}

// waveName returns the name of the current wave.
func waveName(r document.Rollout) string {
	if r.Wave >= len(r.Waves) {
		return ""
	}
	return r.Waves[r.Wave].Name
}

func showGates(s *cli.Printer, all []document.RolloutGate) {
	rows := [][]string{}
	for _, g := range all {
		state, why := g.State, g.Why
		if g.DryRun {
			state += ", dry run"
		}
		var by []string
		for _, a := range g.Approvals {
			by = append(by, a.By)
		}
		if len(by) > 0 && why == "" {
			why = "approved by " + strings.Join(by, ", ")
		}
		rows = append(rows, []string{g.Wave, render.Escape(g.Name), g.Type, state, fmt.Sprintf("%d/%d", g.Passes, g.Need),
			s.Moment(g.At * int64(time.Second)), leftText(s, g), render.Escape(why)})
	}
	if len(rows) > 0 {
		s.Printf("\n")
		s.Style().Table(s.App.Stdout,
			[]string{"WAVE", "GATE", "TYPE", "STATE", "PASSED", "LAST", "TIME LEFT", "EVIDENCE"}, rows)
	}
}

// leftText returns the time until the rollout pauses because of a gate.
func leftText(s *cli.Printer, g document.RolloutGate) string {
	if g.Deadline == 0 {
		return ""
	}
	left := time.Unix(g.Deadline, 0).Sub(s.App.Now())
	return duration.Text(max(0, left).Truncate(time.Second))
}
