package apitest

import "fettle.dev/fettle/internal/fleet/hub/api"

// Backend is everything that the handlers of the API need.
type Backend interface {
	api.ThisHub
	api.Summary
	api.Repositories
	api.TargetViews
	api.Members
	api.Registry
	api.Suspicions
	api.TargetFreezes
	api.FleetFreezes
	api.Executors
	api.ModuleViews
	api.Assignments
	api.Exports
	api.EventViews
	api.Jobs
	api.JobChanges
	api.Binaries
	api.Tokens
	api.AuditLog
	api.Hubs
	api.Users
	api.Logins
	api.WebLogins
	api.Alarms
	api.Notifications
	api.Notices
	api.Backups
	api.Requests
	api.RequestPolicies
	api.Certificates
}

// Table returns the handlers of the API for a backend.
func Table(b Backend) *api.Table {
	t := api.NewTable(b)
	api.HandleThisHub(t, b)
	api.HandleStatus(t, b, b)
	api.HandleRepositories(t, b)
	api.HandleTargets(t, b)
	api.HandleFreezes(t, b)
	api.HandleExecutors(t, b)
	if r, ok := b.(api.Runs); ok {
		api.HandleRuns(t, r)
	} else {
		api.HandleRuns(t, Runs{})
	}
	api.HandleModules(t, b)
	api.HandleAssignments(t, b, Locks{})
	api.HandleExports(t, b)
	api.HandleEvents(t, b)
	api.HandleJobs(t, b)
	api.HandleRollouts(t, Rollouts{})
	api.HandleRolloutPlans(t, Rollouts{})
	api.HandleDifferences(t, Differences{})
	api.HandleFleetRollbacks(t, FleetRollbacks{})
	api.HandleExemptions(t, Exemptions{})
	api.HandleLocks(t, Locks{})
	api.HandleBarriers(t, Waits{})
	if s, ok := b.(api.Signals); ok {
		api.HandleSignals(t, s)
	} else {
		api.HandleSignals(t, Waits{})
	}
	api.HandleHistory(t, History{})
	api.HandleSearch(t, Search{})
	api.HandleBinaries(t, b)
	api.HandleTokens(t, b)
	api.HandleAuditLog(t, b)
	api.HandleHubs(t, b)
	api.HandleUsers(t, b)
	api.HandleLogins(t, b)
	api.HandleWebLogins(t, b)
	api.HandleAlarms(t, b)
	api.HandleNotifications(t, b)
	api.HandleNotices(t, b)
	api.HandleBackups(t, b)
	api.HandleRequests(t, b)
	api.HandleRequestPolicy(t, b)
	api.HandleCertificates(t, b)
	return t
}
