package apitest

import (
	"context"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// Scopes are the cluster search, in which a check fails on one of three members, with the task templates.
type Scopes struct{}

func searchCluster() document.Scope {
	return document.Scope{ID: "cluster/search", Kind: "cluster", Name: "search", Description: "full-text search",
		Verdict: document.VerdictFailed, Since: lockNoon - int64(time.Hour), Members: 3, Counted: 2, Connected: 2,
		MinMembers: 2, Reasons: []document.ScopeReason{
			{Verdict: document.VerdictFailed, Subject: "check", Name: "formed", Targets: []string{"es2"},
				Text: "the check formed succeeds on 1 of 2 targets, 2 are required, 1 failed"},
			{Verdict: document.VerdictPending, Subject: "task", Name: "templates", Text: "the task templates waits"}}}
}

// Scopes returns the failed cluster and a ready rack.
func (Scopes) Scopes(context.Context) ([]document.Scope, error) {
	return []document.Scope{searchCluster(), {ID: "rack/r1", Kind: "rack", Name: "r1", Verdict: document.VerdictReady,
		Since: lockNoon, Reasons: []document.ScopeReason{}, Scopes: []string{"cluster/search"}}}, nil
}

// Scope returns the cluster.
func (s Scopes) Scope(ctx context.Context) document.ScopeDetail {
	tasks, _ := s.Tasks(ctx)
	return document.ScopeDetail{Scope: searchCluster(), Source: "fettle.hcl:12", Element: "search",
		Parameters: `{"nodes":3}`, Members: []document.ScopeMember{
			{Target: "caaaaaaaaaaaaaaaaaaaaaaaaa", Name: "es1", State: document.ScopeConnected},
			{Target: "daaaaaaaaaaaaaaaaaaaaaaaaa", Name: "es2", State: document.ScopeConnected},
			{Name: "es3", State: document.ScopeNotEnrolled}},
		Checks: []document.ScopeCheck{{Name: "formed", Verdict: document.VerdictFailed, Quorum: "all", Required: 2, OK: 1,
			Failed: 1, Testers: []document.ScopeTester{
				{Name: "es1", Outcome: fleet.CheckOK, Since: lockNoon},
				{Name: "es2", Outcome: fleet.CheckFailed, Since: lockNoon, Text: "status 503"},
				{Name: "es3", Absent: document.ScopeNotEnrolled}}}},
		Tasks: tasks[:1]}
}

// ScopeHistory returns the verdicts of the cluster.
func (Scopes) ScopeHistory() []document.ScopeVerdict {
	return []document.ScopeVerdict{
		{Verdict: document.VerdictFailed, Since: lockNoon - int64(time.Hour), Reasons: searchCluster().Reasons},
		{Verdict: document.VerdictReady, Since: lockNoon - int64(24*time.Hour), Reasons: []document.ScopeReason{}},
	}
}

// Tasks returns the tasks of the cluster.
func (Scopes) Tasks(context.Context) ([]document.ScopeTask, error) {
	attempt := document.TaskAttempt{Fence: 1764216000000, Digest: "aa", Target: "caaaaaaaaaaaaaaaaaaaaaaaaa", Name: "es1",
		Job: "task-0123456789abcdef-1764216000000", Accepted: true, Begun: lockNoon - int64(time.Hour), Ended: lockNoon,
		Text: "the agent stopped during the attempt"}
	return []document.ScopeTask{
		{Scope: "cluster/search", Task: "templates", Phase: document.TaskWaiting, Since: lockNoon, Digest: "bb",
			Command: []string{"import"}, Waits: "check.formed", Attempts: []document.TaskAttempt{}},
		{Scope: "cluster/search", Task: "users", Phase: document.TaskUnknown, Since: lockNoon, Digest: "aa", Decide: true,
			Text: attempt.Text, Attempts: []document.TaskAttempt{attempt}}}, nil
}
