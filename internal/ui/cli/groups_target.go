//go:build target

package cli

import "github.com/spf13/cobra"

// groups are what somebody at the console of a target may need: what was done, and the
// way back.
func groups() []group {
	type list = []func(*session) *cobra.Command
	return []group{
		{"machine", "The machine:", list{newRollback, newConfirm, newDrift, newFreeze, newUnfreeze, newRecover}},
		{"history", "Status and history:", list{newStatus, newFacts, newLog, newShow}},
		{"more", "More:", list{newVersion}},
	}
}
