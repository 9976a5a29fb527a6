//go:build !target

package cli

import "github.com/spf13/cobra"

// groups are all commands.
func groups() []group {
	type list = []func(*session) *cobra.Command
	return []group{
		{"repository", "The repository:", list{newInit, newValidate, newTest, newFmt, newCompile, newDiff, newSecret, newDocs, newSchema, newGenerate, newLookup, newModule}},
		{"machine", "The machine:", list{newPlan, newApply, newRollback, newConfirm, newDrift, newFreeze, newUnfreeze, newRecover, newAgent}},
		{"fleet", "Fleet, through a hub:", list{newHub, newLogin, newToken, newPerson, newTarget, newExport, newEvents, newRequest, newAsk, newCertificate, newAlarm, newNotify, newPermit, newAudit}},
		{"once", "One-time operations, not part of the applied state:", list{newRun, newCopy, newReboot, newWait}},
		{"history", "Status and history:", list{newStatus, newFacts, newLog, newShow, newExplain, newGC}},
		{"more", "More:", list{newSteps, newVersion, newCompletion, newSupportBundle}},
	}
}
