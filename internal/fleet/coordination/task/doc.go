// Package task decides about the attempts of tasks that a scope does once. It is pure: a state, an event and a time
// give a new state and an answer. The hubs store the state of each task under one key with compare-and-set, so that
// all hubs together make one decision after another.
//
//	next, answer := task.Decide(state, task.Event{Kind: task.Begin, Target: id, Name: "db1", Limit: time.Minute}, now)
//	if answer.Attempt != nil { … store next, then create the job of the attempt }
//
// # Meaning
//
// "Exactly once" does not exist across a crash. A task is done at most once for each content, and otherwise its state
// is known: waiting, claimed, running, done, failed, or unknown.
//
//   - Instance: one content of a task, identified by its digest. Other content is another instance. A return to an
//     earlier content finds its instance as it was: a task that was done with this content is not done again.
//   - Attempt: one target or hub that does the task. A task has at most one open attempt, over all of its instances.
//     The attempt is stored before the target learns it, so a leader that stops does not lose it.
//   - Fence: a number that increases with each attempt, and is at least the time in milliseconds. So it also increases
//     after the state was lost.
//   - Hold: a task that could begin waits for an executor. Only the reason is stored, once.
//   - Claimed and running: an attempt runs after the target accepted it. An attempt must not begin after it expired.
//   - Result: done and verified end the instance as done. A failed attempt is repeated after RetryAfter, until Retries
//     are used. Then the instance is failed. A refused attempt did not begin, does not count, and is repeated later.
//   - Loss: an attempt without a result at its deadline, or which the target reports as interrupted, is unknown. With
//     OnUnknown Verify, targets test the condition of the task: if it holds, the task is done, and otherwise a user
//     must decide. With Ask, a user must decide. With Retry, another attempt begins, but after MaxLost losses a user
//     must decide.
//   - Late result: a result of an attempt that was lost counts, also after a user decided nothing yet. If a later
//     attempt began, the result only changes the history, except that a success makes the instance done after the open
//     attempt.
//   - Changed content: an open attempt of the old content is awaited first.
//   - Undeclared: an open attempt is awaited. Then nothing begins, except for the undo.
//   - Undo: if a task with an undo is removed and a command of it began, the undo is due. It is an instance with a
//     digest of its own, and has the attempts, losses and decisions of other instances. The undo of the newest
//     declaration counts. If no command began, or a user decided that the task is not done, nothing is undone. A
//     condition that held before the first command means that the task did nothing. If a result is unknown, a user
//     decides whether the task is done.
//   - A successful undo forgets the results of all contents: a task that is declared again is done again. Results of
//     earlier attempts that arrive later do not count.
//   - Declared again before the undo begins: it does not begin. During the undo: it is awaited. After an undo that
//     failed or is unknown: contents that were done are unknown.
//   - Decisions of users: Retry begins again from a failed, unknown or done instance. Resolve makes a failed or
//     unknown instance done or failed. Both are refused while an attempt is open.
//   - A fleet that was restored from a backup, and hubs that lost data: attempts can be missing. So instances that are
//     not done or failed are unknown. Before the loss is detected, a task can be done again.
//   - Repetition: an event that was applied already changes nothing.
//   - Clocks: a clock that jumps forward makes attempts unknown early, and their late results count. The deadline has
//     a reserve of a minute for clocks of hubs that differ.
package task
