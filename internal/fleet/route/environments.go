package route

import (
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// EnvironmentName names an environment that an operator created.
type EnvironmentName struct {
	Environment string `path:"environment"`
}

func ofEnvironments() []Row {
	return []Row{Environments().Row, Environment().Row, CreateEnvironment().Row, ExtendEnvironment().Row,
		RemoveEnvironment().Row, EnvironmentRules().Row, FollowBranches().Row, UnfollowBranches().Row}
}

// Environments lists environments that operators created.
func Environments() (r Route[None, None, document.EnvironmentPage]) {
	return r.get(access.Read, "/v1/environments", "List environments that operators created")
}

// Environment shows one environment that an operator created.
func Environment() (r Route[EnvironmentName, None, document.EnvironmentDetail]) {
	return r.get(access.Read, "/v1/environments/{environment}", "Show an environment with its targets")
}

// CreateEnvironment lets targets follow a branch of their own. It may be repeated.
func CreateEnvironment() (r Route[None, document.EnvironmentRequest, document.Done]) {
	return r.post(access.Operate, "/v1/environments", "Create an environment for some targets and a limited time")
}

// ExtendEnvironment sets another end.
func ExtendEnvironment() (r Route[EnvironmentName, document.EnvironmentExtension, document.Done]) {
	return r.post(access.Operate, "/v1/environments/{environment}/extend", "Set another end of an environment")
}

// RemoveEnvironment returns the targets to the parent. It may be repeated.
func RemoveEnvironment() (r Route[EnvironmentName, document.ReasonRequest, document.Done]) {
	return r.post(access.Operate, "/v1/environments/{environment}/remove",
		"Remove an environment; its targets return to the parent")
}

// EnvironmentRuleName names a rule that creates environments.
type EnvironmentRuleName struct {
	Rule string `path:"rule"`
}

// EnvironmentRules lists rules that create environments.
func EnvironmentRules() (r Route[None, None, document.EnvironmentRulePage]) {
	return r.get(access.Read, "/v1/environment-rules", "List rules that create environments for branches")
}

// FollowBranches stores a rule. It may be repeated.
func FollowBranches() (r Route[None, document.EnvironmentRuleRequest, document.Done]) {
	return r.post(access.Admin, "/v1/environment-rules",
		"Create or replace a rule that creates an environment for each branch that matches a pattern")
}

// UnfollowBranches removes a rule. It may be repeated.
func UnfollowBranches() (r Route[EnvironmentRuleName, document.ReasonRequest, document.Done]) {
	return r.post(access.Admin, "/v1/environment-rules/{rule}/remove", "Remove a rule, and end its environments")
}
