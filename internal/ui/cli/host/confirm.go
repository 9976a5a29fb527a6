package host

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewConfirm builds the command confirm, to confirm a run that would undo itself.
func NewConfirm(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "confirm",
		Short:   "Confirm a run that would undo itself",
		Long:    "Confirms the run that waits for confirmation, so that its changes remain. A run\nwaits if it may lock you out, or if it was started with --confirm-within. Use a\nnew connection: an old connection may continue to work although new logins fail.",
		Example: "  sudo fettle apply --yes --confirm-within 60s\n  sudo fettle confirm",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error {
				run, err := x.Confirm(c.Context(), s.RunOptions())
				if err != nil {
					return err
				}
				return s.Done("confirm", run, fmt.Sprintf("Run %d is confirmed and stays.", run))
			})
		},
	}
}
