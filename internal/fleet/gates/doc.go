// Package gates asks the programs that decide about waves of rollouts: Prometheus, and webhooks.
//
//	a := &gates.Asker{Rollouts: log, Now: time.Now, Programs: programs, Warn: warn}
//	err := a.Run(ctx)      // on the hub that leads, until ctx ends
//	verdict, why := programs.Ask(ctx, due) // on a workstation, one question
//
// It obtains the verdicts that rollouts need now, and stores them. It has no state that matters: another hub asks
// again. A query ends after 10 seconds, reads at most 1 MiB, and follows no redirects. A program that cannot be
// reached, or whose answer cannot be understood, is an error, never a failure.
package gates
