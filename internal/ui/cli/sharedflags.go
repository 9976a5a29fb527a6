package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// Flags with the same meaning have the same name and text in all commands.

// YesFlag defines --yes, for commands that ask before they act.
func YesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask for confirmation")
}

// ReasonFlag defines --reason, which other operators and the audit log see.
func ReasonFlag(c *cobra.Command, reason *string) {
	c.Flags().StringVar(reason, "reason", "", "record `TEXT` as the reason, for other operators")
}

// CrossIrreversibleFlag defines --cross-irreversible, the consent of the user to changes without an inverse.
func CrossIrreversibleFlag(c *cobra.Command, cross *bool, text string) {
	c.Flags().BoolVar(cross, "cross-irreversible", false, text)
}

// LimitFlag defines --limit with a default.
func LimitFlag(c *cobra.Command, limit *int, value int, things string) {
	*limit = value
	c.Flags().VarP(&numberFlag{limit, 1}, "limit", "n", "show at most this `NUMBER` of "+things)
}

// LimitOrAllFlag defines --limit with a default; 0 is no limit.
func LimitOrAllFlag(c *cobra.Command, limit *int, value int, things string) {
	*limit = value
	c.Flags().VarP(&numberFlag{limit, 0}, "limit", "n", "show at most this `NUMBER` of "+things+"; 0 shows all")
}

// ExpiresFlag defines --expires, a lifetime.
func ExpiresFlag(c *cobra.Command, d *time.Duration, value time.Duration, usage string) {
	SpanVar(c.Flags(), d, "expires", value, usage+" `DURATION`, such as 12h or 2d")
}

// OutputFlag defines --output, the file that a command writes.
func OutputFlag(c *cobra.Command, file *string, usage string) {
	c.Flags().StringVarP(file, "output", "o", "", usage)
}

// WatchFlag defines --watch, for commands that can show a changing result.
func WatchFlag(c *cobra.Command, on *bool) {
	c.Flags().BoolVar(on, "watch", false, "show the result again after each change, until you stop the command")
}

// FrozenFlag defines --ignore-freeze, for commands that change machines.
func (f *policyFlags) FrozenFlag(c *cobra.Command) {
	c.Flags().BoolVar(&f.IgnoreFreeze, "ignore-freeze", false, "work on frozen hosts as well")
}

// LocksFlag defines --without-locks, for commands that run step lists.
func (f *policyFlags) LocksFlag(c *cobra.Command) {
	c.Flags().BoolVar(&f.WithoutLocks, "without-locks", false, "run without the slots of locks that the run needs")
}

// AdoptFlag adds the operator's consent to replacing what another repository or target
// applied.
func (f *policyFlags) AdoptFlag(c *cobra.Command) {
	c.Flags().BoolVar(&f.Adopt, "replace-applied-state", false,
		"replace the applied state of another repository or target, and remove what the list does not contain")
}
