package apitest

import (
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// OfEnvironments returns the environments production and staging, and review-7 of a branch.
func (Scopes) OfEnvironments() document.ScopePage {
	of := func(name, parent, domain string, verdict document.Verdict, reasons ...document.ScopeReason) document.Scope {
		return document.Scope{ID: "environment/" + name, Kind: "environment", Name: name, Verdict: verdict, Since: lockNoon,
			Members: 2, Counted: 2, Connected: 2, Parent: parent, Domain: domain, Reasons: reasons}
	}
	failed := document.ScopeReason{Verdict: document.VerdictFailed, Subject: "check", Name: "shop",
		Targets: []string{"probe1"}, Text: "the check shop succeeds on 0 of 1 targets, 1 is required, 1 failed"}
	return document.ScopePage{Total: 3, Kinds: []string{"environment"}, Scopes: []document.Scope{
		of("production", "company", "example.org", document.VerdictReady),
		of("review-7", "staging", "review-7.staging.example.org", document.VerdictFailed, failed),
		of("staging", "company", "staging.example.org", document.VerdictReady)}}
}

// Environments returns review-7, which a rule created, and fix-3, which has ended.
func (Scopes) Environments() document.EnvironmentPage {
	return document.EnvironmentPage{Environments: []document.Environment{
		{Name: "fix-3", State: document.EnvironmentEnded, Parent: "staging", Branch: "fix-3", Targets: 1,
			Modules: []string{"modules/web"}, Select: []string{"st-2"}, By: "jane", Reason: "try the proxy",
			At: lockNoon - int64(24*time.Hour), Until: lockNoon - int64(time.Hour)},
		{Name: "review-7", State: document.EnvironmentInForce, Parent: "staging", Branch: "review/7",
			Commit: strings.Repeat("4f", 20), Targets: 2, Select: []string{"review-*"}, By: "jane", Reason: "reviews",
			Rule: "review", At: lockNoon - int64(time.Hour)}}}
}

// EnvironmentRules returns the rule review, for which a branch waits.
func (Scopes) EnvironmentRules() document.EnvironmentRulePage {
	return document.EnvironmentRulePage{Rules: []document.EnvironmentRule{{Name: "review", Branches: "review/*",
		Parent: "staging", Select: []string{"review-*"}, Each: 2, Max: 10, By: "jane", Reason: "reviews", Polled: true,
		Environments: []string{"review-7"}, Waiting: []document.WaitingBranch{
			{Branch: "review/8", Why: "it needs 2 targets, and 1 of the rule are free"}}}}}
}
