// Package scope computes the verdicts of scopes: of clusters, for example. It is pure.
//
//	for _, r := range scope.Evaluate(scope.Input{Declared: scopes, Targets: targets, Tasks: tasks}) {
//		fmt.Println(r.Scope, r.Verdict, r.Reasons)
//	}
//
// # Meaning
//
// The verdict of a scope does not follow from the states of its hosts, and does not change them. It is the worst
// verdict of its parts: its members, checks, tasks, and the scopes that are its members. Each part other than ready
// has a reason.
//
//   - Members: a target counts if it is enrolled and not retired, revoked, suspect or frozen. Other targets are shown
//     with the reason. Without members that count, the scope has the verdict of its kind for empty scopes, and its
//     checks and tasks do not count.
//   - Scopes whose tasks hubs do have no members, and are never empty. They have only checks and tasks.
//   - Minimum: fewer members that count than the minimum are pending, because they can still join. Enough members, of
//     which fewer are connected, are failed.
//   - Results of checks: a result counts if its tester counts, is connected, and reported it for the declared content
//     of the check. Otherwise the result is unknown.
//   - Checks that the leading hub tests: the newest stored result for the declared content counts, also while another
//     hub becomes the leader or no hub leads. The hub stores an unknown result if it cannot test the check.
//   - Quorum of a check: it is ready if enough testers succeed. It is failed if too few succeed even with all
//     undecided results. It is pending if enough can succeed with the pending results alone, and unknown otherwise. A
//     check without testers that count is unknown.
//   - Tasks: a failed task, and a task with an unknown result, are failed. Each other task that is not done is
//     pending.
//   - Scopes as members: their verdicts count, except empty ones. Without other members, the scope is empty.
//   - Overlaps: if scopes of a kind must not overlap, two of them with the same target are failed.
//   - Input that a repository cannot contain, such as an unknown kind or a cycle of scopes: unknown, with a reason.
package scope
