package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
)

func newConfirm(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "confirm",
		Short:   "Confirm a run that would undo itself",
		Long:    "Confirms the run that waits for it, so that it stays: one that may lock you out, or\nthat was started with --confirm-within. Type it over a new connection: an old one may\nlive on although nobody can log in any more.",
		Example: "  sudo fettle apply --yes --confirm-within 60s\n  sudo fettle confirm",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withExecutor(c.Context(), func(x executor.Executor) error {
				run, err := x.Confirm(c.Context(), s.runOptions())
				if err != nil {
					return err
				}
				return s.done("confirm", run, fmt.Sprintf("Run %d is confirmed and stays.", run))
			})
		},
	}
}
