//go:build !target

package cli

import "github.com/spf13/cobra"

// groups are all commands.
func groups() []group {
	type list = []func(*session) *cobra.Command
	return []group{
		{"repository", "The repository:", list{newInit, newValidate, newTest, newFmt, newCompile, newDiff, newSecret, newDocs, newSchema, newGenerate, newLookup, newModule}},
		{"machine", "The machine:", list{newPlan, newApply, newRollback, newConfirm, newDrift, newFreeze, newUnfreeze, newRecover, newAgent}},
		{"fleet", "The fleet, by way of a hub:", list{newHub, newLogin, newToken, newPerson, newTarget, newExport, newEvents, newRequest, newAsk, newCertificate, newAlarm, newNotify, newPermit, newAudit}},
		{"once", "Once, and no part of what is applied:", list{newRun, newCopy, newReboot, newWait}},
		{"history", "What was done, and why:", list{newStatus, newFacts, newLog, newShow, newExplain, newGC}},
		{"more", "More:", list{newSteps, newVersion, newCompletion, newSupportBundle}},
	}
}
