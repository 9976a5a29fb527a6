package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

func ofThisHub() []Row {
	return []Row{Healthz().Row, Readyz().Row, Metrics().Row, Description().Row, WhoAmI().Row, Health().Row,
		Status().Row, Repositories().Row}
}

// Healthz answers while the hub runs.
func Healthz() (r Route[None, None, None]) {
	return r.get(Open, "/healthz", "Check whether the hub runs").plain()
}

// Readyz answers with the status 503 while the hub serves no agents.
func Readyz() (r Route[None, None, None]) {
	return r.get(Open, "/readyz", "Check whether the hub serves agents").plain()
}

// Metrics returns the numbers of the hub and of its fleet. Users with a part of the fleet get the numbers of
// their targets.
func Metrics() (r Route[None, None, None]) {
	return r.get(access.Read, "/metrics", "Metrics in the format of Prometheus").plain().perTarget()
}

// Description returns this table as an OpenAPI document.
func Description() (r Route[None, None, map[string]any]) {
	return r.get(access.Read, "/v1/openapi.json", "This description").perTarget()
}

// WhoAmI returns the user who calls it.
func WhoAmI() (r Route[None, None, document.CurrentUser]) {
	return r.get(access.Read, "/v1/whoami", "Show the current user and the rights").perTarget()
}

// Health returns the health of the hub, at once.
func Health() (r Route[None, None, document.Health]) {
	return r.get(access.Read, "/v1/health", "Show the health of the hub")
}

// Status returns a summary of the fleet.
func Status() (r Route[None, None, document.Status]) {
	return r.get(access.Read, "/v1/status", "Show the numbers of the fleet").perTarget()
}

// Repositories returns the repositories with their commits.
func Repositories() (r Route[None, None, document.RepositoryPage]) {
	return r.get(access.Read, "/v1/repositories", "List the repositories that the hub follows")
}
