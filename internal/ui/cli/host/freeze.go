package host

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/ui/cli"
)

// NewFreeze builds the command freeze, to refuse all changes until an end or fettle unfreeze.
func NewFreeze(s *cli.Session) *cobra.Command {
	reason := ""
	expires := time.Duration(0)
	c := &cobra.Command{
		Use:   "freeze",
		Short: "Refuse all changes for a time, or until fettle unfreeze",
		Long: `Freezes this host: apply, rollback, run, copy and reboot are refused until
--expires or "fettle unfreeze". Each refusal shows the user, the reason and the
end. --ignore-freeze overrides the freeze once. Commands that only read and
programs that change nothing (run --read-only) are always allowed.

The agent of this host starts no run and repairs no drift, and a rollout waits
for this target. A run that has begun ends as usual: it is confirmed, undone or
recovered. When the freeze ends, the agent continues at once.

A second freeze replaces your own. To replace the freeze of another user, first
end it with "fettle unfreeze". The end is a time of the clock of this host.`,
		Example: "  sudo fettle freeze --expires 2h --reason 'database migration'\n" +
			"  sudo fettle freeze --reason 'do not touch before the audit'",
		Args: freezeArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return freeze(c.Context(), s, reason, expires)
		},
	}
	cli.ReasonFlag(c, &reason)
	cli.ExpiresFlag(c, &expires, 0, "end the freeze (default: never) after this")
	return c
}

func freeze(ctx context.Context, s *cli.Session, reason string, expires time.Duration) error {
	f := journal.Frozen{By: s.User(), At: s.App.Now().UnixNano(), Why: reason}
	text := "Frozen. Nothing is changed here until you type: fettle unfreeze"
	if expires > 0 {
		f.Until = s.App.Now().Add(expires).UnixNano()
		text = fmt.Sprintf("Frozen until %s. To allow changes before, type: fettle unfreeze", s.Moment(f.Until))
	}
	return cli.WithState(ctx, s, func(x executor.Executor) error {
		if err := ownFreeze(ctx, s, x); err != nil {
			return err
		}
		if err := x.Freeze(ctx, f, s.RunOptions()); err != nil {
			return err
		}
		return s.Done("freeze", 0, text)
	})
}

// ownFreeze refuses if another user froze the host. A freeze that cannot be read has no owner.
func ownFreeze(ctx context.Context, s *cli.Session, x executor.Executor) error {
	st, err := x.Condition(ctx)
	if err != nil || st.Frozen == nil || st.Frozen.By == s.User() {
		return nil
	}
	return cli.Refuse("End that freeze first: fettle unfreeze",
		"cannot freeze this host: it is frozen "+frozenText(s.Printer, st.Frozen))
}

// freezeArgs refuses words after freeze: users type a reason or a time there.
func freezeArgs(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	reason := strings.Join(words, " ")
	return cli.Misused(cli.Refuse(fmt.Sprintf("Give it as a reason: fettle freeze --reason %s\nTo end it after some time, add --expires 2h. To end it now: fettle unfreeze",
		cli.WordsText([]string{reason})),
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
