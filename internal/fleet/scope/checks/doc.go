// Package checks tests the checks of scopes on a target or on a hub.
//
//	t := &checks.Tester[checks.Composition]{Target: id, Read: read, Test: test, Changed: changed, …}
//	go t.Run(ctx)
//	t.Applied(composition) // after each change of the applied composition
//
// # Meaning
//
//   - Absence: a target that tests no check starts no process and no timer.
//   - Unknown: a check without a result was not tested yet, since the boot of the host or since its condition changed.
//     After a restart of the agent, the last result counts until the next test. A check is also unknown, with a reason,
//     if its test could not be made.
//   - Failure: a check that held fails after FailAfter without a success. A check that never held is pending during
//     this time. It stays failed until it holds.
//   - Repetition: each check is tested at its interval, shortened by a random part of at most a tenth, so that many
//     targets do not test at the same time. A test that lasts longer than the interval delays the next one.
//   - Interruption: the end of the agent ends all tests. They have no result.
package checks
