package route

import "slices"

// All returns the rows of all routes.
func All() []Row {
	return slices.Concat(ofThisHub(), ofTargets(), ofFreezes(), ofExecutors(), ofModules(), ofEvents(), ofJobs(),
		ofRollouts(), ofFleetRollbacks(), ofExemptions(), ofBinaries(), ofTokens(), ofHubs(), ofUsers(), ofAlarms(),
		ofNotifications(), ofBackups(), ofRequests(), ofCertificates(), ofLocks(), ofWaits(), ofScopes(),
		ofHistory(), ofSearch(), ofEnvironments(), ofOrganizations())
}
