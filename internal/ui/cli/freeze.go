package cli

import (
	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

func newFreeze(s *session) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use:   "freeze",
		Short: "Refuse all changes until fettle unfreeze",
		Long: `Freezes this machine: apply and rollback are refused until "fettle unfreeze".
Commands and actions of run, copy and reboot that would change something are
refused too, unless --ignore-freeze is given. Each refusal shows the reason.
Read-only commands are always allowed.`,
		Example: "  sudo fettle freeze --reason 'database migration until noon'",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withState(c.Context(), func(x executor.Executor) error {
				err := x.Freeze(c.Context(), journal.Frozen{By: s.user(), At: s.app.Now().UnixNano(), Why: reason}, s.runOptions())
				if err != nil {
					return err
				}
				return s.done("freeze", 0, "Frozen. Nothing is changed here until you type: fettle unfreeze")
			})
		},
	}
	reasonFlag(c, &reason)
	return c
}

func newUnfreeze(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "unfreeze",
		Short:   "Allow changes again",
		Example: "  sudo fettle unfreeze",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return s.withExecutor(c.Context(), func(x executor.Executor) error {
				if err := x.Unfreeze(c.Context(), s.runOptions()); err != nil {
					return err
				}
				return s.done("unfreeze", 0, "Unfrozen. Changes are allowed again.")
			})
		},
	}
}
