package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
)

func newFreeze(s *session) *cobra.Command {
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
			return withState(c.Context(), s, func(x executor.Executor) error {
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

// freezeArgs refuses words after freeze: users type a reason or a time there.
func freezeArgs(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	reason := strings.Join(words, " ")
	return misused(refuse(fmt.Sprintf("Give it as a reason: fettle freeze --reason %s\nA freeze of this host has no end. To end it: fettle unfreeze", wordsText(
		[]string{reason})),
		fmt.Sprintf("cannot run %q: it takes no argument, not %d", c.CommandPath(), len(words))))
}

func newUnfreeze(s *session) *cobra.Command {
	return &cobra.Command{
		Use:     "unfreeze",
		Short:   "Allow changes again",
		Example: "  sudo fettle unfreeze",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return withExecutor(c.Context(), s, func(x executor.Executor) error {
				if err := x.Unfreeze(c.Context(), s.runOptions()); err != nil {
					return err
				}
				return s.done("unfreeze", 0, "Unfrozen. Changes are allowed again.")
			})
		},
	}
}
