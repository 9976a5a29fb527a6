package host

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewFreeze builds the command freeze, to refuse all changes until fettle unfreeze.
func NewFreeze(s *cli.Session) *cobra.Command {
	reason := ""
	c := &cobra.Command{
		Use:   "freeze",
		Short: "Refuse all changes until fettle unfreeze",
		Long: `Freezes this host: apply and rollback are refused until "fettle unfreeze".
fettle run, copy and reboot are refused too, unless the program changes nothing
(--read-only) or --ignore-freeze is given. Each refusal shows the reason.
Commands that only read are always allowed.`,
		Example: "  sudo fettle freeze --reason 'database migration until noon'",
		Args:    freezeArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.WithState(c.Context(), s, func(x executor.Executor) error {
				err := x.Freeze(c.Context(), journal.Frozen{By: s.User(), At: s.App.Now().UnixNano(), Why: reason}, s.RunOptions())
				if err != nil {
					return err
				}
				return s.Done("freeze", 0, "Frozen. Nothing is changed here until you type: fettle unfreeze")
			})
		},
	}
	cli.ReasonFlag(c, &reason)
	return c
}

// freezeArgs refuses words after freeze: users type a reason or a time there.
func freezeArgs(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	reason := strings.Join(words, " ")
	return cli.Misused(cli.Refuse(fmt.Sprintf("Give it as a reason: fettle freeze --reason %s\nA freeze of this host has no end. To end it: fettle unfreeze", cli.WordsText(
		[]string{reason})),
		fmt.Sprintf("cannot run %q: it takes no argument, not %d", c.CommandPath(), len(words))))
}

// NewUnfreeze builds the command unfreeze, to allow changes again.
func NewUnfreeze(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "unfreeze",
		Short:   "Allow changes again",
		Example: "  sudo fettle unfreeze",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return cli.WithExecutor(c.Context(), s, func(x executor.Executor) error {
				if err := x.Unfreeze(c.Context(), s.RunOptions()); err != nil {
					return err
				}
				return s.Done("unfreeze", 0, "Unfrozen. Changes are allowed again.")
			})
		},
	}
}
