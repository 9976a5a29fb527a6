//go:build !target

package cli

import "github.com/spf13/cobra"

// groups are all commands.
func groups() []group {
	type list = []func(*session) *cobra.Command
	return []group{
		{"repository", "Repository", "The repository:",
			list{newInit, newValidate, newTest, newFmt, newCompile, newDiff, newSecret, newDocs, newSchema, newGenerate,
				newLookup, newModule}},
		{"machine", "Host", "The host:", list{newPlan, newApply, newRollback, newConfirm, newDrift, newFreeze, newUnfreeze,
			newRecover, newAgent}},
		{"fleet", "Fleet", "Fleet, through a hub:", list{newHub, newLogin, newToken, newUser, newTarget, newExport,
			newEvents, newJob, newRequest, newCert, newAlarm, newNotify, newPermit, newAudit}},
		{"once", "Once", "One-time operations, not part of the applied state:", list{newRun, newCopy, newReboot, newWait}},
		{"history", "History", "Status and history:", list{newStatus, newFacts, newLog, newShow, newExplain, newGC}},
		{"more", "Other", "More:", list{newSteps, newHelp, newVersion, newCompletion, newSupportBundle}},
	}
}
