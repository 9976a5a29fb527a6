//go:build target

package cli

import "github.com/spf13/cobra"

// groups are the commands that an operator needs at the console of a target: to see the past
// runs, and to restore an earlier state.
func groups() []group {
	type list = []func(*session) *cobra.Command
	return []group{
		{"machine", "Host", "The host:", list{newRollback, newConfirm, newDrift, newFreeze, newUnfreeze, newRecover}},
		{"history", "History", "Status and history:", list{newStatus, newFacts, newLog, newShow}},
		{"more", "Other", "More:", list{newHelp, newVersion}},
	}
}
