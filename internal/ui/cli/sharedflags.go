package cli

import (
	"time"

	"github.com/spf13/cobra"
)

// Flags with the same meaning have the same name and text in all commands.

// yesFlag defines --yes, for commands that ask before they act.
func yesFlag(c *cobra.Command, yes *bool) {
	c.Flags().BoolVarP(yes, "yes", "y", false, "do not ask for confirmation")
}

// reasonFlag defines --reason, which other operators and the audit log see.
func reasonFlag(c *cobra.Command, reason *string) {
	c.Flags().StringVar(reason, "reason", "", "record `TEXT` as the reason, for other operators")
}

// crossFlag defines --cross-irreversible, the consent of the user to changes without an inverse.
func crossFlag(c *cobra.Command, cross *bool, text string) {
	c.Flags().BoolVar(cross, "cross-irreversible", false, text)
}

// limitFlag defines --limit with a default.
func limitFlag(c *cobra.Command, limit *int, value int, things string) {
	*limit = value
	c.Flags().VarP(&numberFlag{limit, 1}, "limit", "n", "show at most this `NUMBER` of "+things)
}

// limitOrAllFlag defines --limit with a default; 0 is no limit.
func limitOrAllFlag(c *cobra.Command, limit *int, value int, things string) {
	*limit = value
	c.Flags().VarP(&numberFlag{limit, 0}, "limit", "n", "show at most this `NUMBER` of "+things+"; 0 shows all")
}

// expiresFlag defines --expires, a lifetime.
func expiresFlag(c *cobra.Command, d *time.Duration, value time.Duration, usage string) {
	spanVar(c.Flags(), d, "expires", value, usage+" `DURATION`, such as 12h or 2d")
}

// outputFlag defines --output, the file that a command writes.
func outputFlag(c *cobra.Command, file *string, usage string) {
	c.Flags().StringVarP(file, "output", "o", "", usage)
}
