package fleet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/ui/render"
)

// NewRollout builds the command rollout, to changes that reach the fleet in waves.
func NewRollout(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "Changes that reach the fleet in waves",
		Long: `Shows and controls rollouts. Each change of modules or of the root bundle is a
rollout: the targets get the change in waves, as long as the targets that have
it are healthy. Otherwise the rollout stops, and by default it rolls back. The
policy of a target can select another strategy; with "at-once" there are no
rollouts.`,
		Example: "  fettle rollout list\n  fettle rollout show r7 --watch\n" +
			"  fettle rollout pause r7 --reason 'support is informed first'",
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newRolloutList(s), newRolloutShow(s))
	c.AddCommand(rolloutOrders(s)...)
	c.AddCommand(newRolloutApprove(s), newRolloutReject(s), newRolloutVerdict(s))
	return c
}

func newRolloutList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the rollouts, newest first",
		Example: "  fettle rollout list\n  fettle rollout list --watch",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Rollouts(), route.None{}, showRollouts)
		},
	}
	w.Flag(c)
	return c
}

func showRollouts(s *cli.Printer, p document.RolloutPage) {
	if len(p.Rollouts) == 0 {
		s.Printf("There are no rollouts. The next change begins one, unless its strategy is at-once: docs/rollouts.md\n")
		return
	}
	rows := [][]string{}
	for _, r := range p.Rollouts {
		ready, all := 0, 0
		for _, w := range r.Waves {
			ready, all = ready+w.Ready, all+w.Targets
		}
		rows = append(rows, []string{r.ID, phaseText(r), waveText(r), fmt.Sprintf("%d/%d", ready, all),
			fmt.Sprint(r.Targets["failed"]), s.Moment(r.Created * int64(time.Second)), render.Escape(shortened(r.Cause))})
	}
	s.Style().Table(s.App.Stdout, []string{"ROLLOUT", "PHASE", "WAVE", "READY", "FAILED", "BEGAN", "CAUSE"}, rows)
}

// phaseText returns the phase of a rollout, and whether its content is held.
func phaseText(r document.Rollout) string {
	switch {
	case r.HeldContent != nil:
		return r.Phase + ", " + r.HeldContent.Text
	case r.Held:
		return r.Phase + ", held"
	}
	return r.Phase
}

func waveText(r document.Rollout) string {
	if r.Wave >= len(r.Waves) {
		return "-"
	}
	return fmt.Sprintf("%s (%d of %d)", r.Waves[r.Wave].Name, r.Wave+1, len(r.Waves))
}

func newRolloutShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "show ROLLOUT",
		Short:   "Show the waves of a rollout and the state of its targets",
		Example: "  fettle rollout show r7\n  fettle rollout show r7 --watch",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Rollout(), route.RolloutID{Rollout: a[0]}, showRollout)
		},
	}
	w.Flag(c)
	return c
}

func showRollout(s *cli.Printer, d document.RolloutDetail) {
	r := d.Rollout
	s.Printf("Rollout %s: %s\n", r.ID, phaseText(r))
	if r.Why != "" {
		by := ""
		if r.By != "" {
			by = " (" + r.By + ")"
		}
		s.Printf("  Reason      %s%s\n", render.Escape(r.Why), render.Escape(by))
	}
	s.Printf("  Cause       %s\n", render.Escape(r.Cause))
	s.Printf("  Began       %s\n", s.Moment(r.Created*int64(time.Second)))
	s.Printf("  Strategy    %s, on %s\n", r.Strategy, render.Escape(r.Branch))
	s.Printf("  Changes     %s\n", strings.Join(r.Parts, ", "))
	s.Printf("  Worst case  %s can fail before it stops by itself\n\n", render.Count(r.WorstCase, "target"))
	if r.Waits != "" {
		s.Printf("The wave %s %s.\n\n", waveName(r), render.Escape(r.Waits))
	}
	showWaves(s, r)
	showGates(s, r.Gates)
	rows := [][]string{}
	for _, t := range d.Targets {
		rows = append(rows, []string{cmp.Or(t.Name, string(t.ID)), t.Wave, t.State, s.Moment(t.Granted * int64(time.Second)),
			render.Escape(t.Why)})
	}
	s.Printf("\n")
	s.Style().Table(s.App.Stdout, []string{"TARGET", "WAVE", "STATE", "GRANTED", "REASON"}, rows)
	if r.Held {
		s.Printf("\nThis content is held until a newer commit replaces it, or: fettle rollout release %s\n", r.ID)
	}
}

func showWaves(s *cli.Printer, r document.Rollout) {
	rows := [][]string{}
	for i, w := range r.Waves {
		state := "waits"
		switch {
		case i < r.Wave || r.Phase == "completed" || r.Phase == "completed-with-exceptions":
			state = "done"
		case i == r.Wave:
			state = "current"
		}
		rows = append(rows, []string{w.Name, state, fmt.Sprintf("%d/%d", w.Ready, w.Targets), fmt.Sprint(w.MaxUnavailable),
			(time.Duration(w.Bake) * time.Second).String()})
	}
	s.Style().Table(s.App.Stdout, []string{"WAVE", "STATE", "READY", "AT ONCE", "BAKE"}, rows)
}
