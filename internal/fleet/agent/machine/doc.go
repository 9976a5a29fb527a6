// Package machine decides what an agent does next. It is pure: what happened and what
// the clocks say come in, what is to be done goes out, and a driver does it in order.
//
//	m := machine.New(machine.Config{Target: id, Boot: boot}, kept, newest, acked)
//	for _, a := range m.Step(machine.Started{}, now) { … } // and so on for every event
//
// # What is durable
//
// Kept is written whole, and Reports go into an outbox. A step that changed Kept begins
// with a Persist, so that whatever follows it is only done once it is durable: an
// assignment is never enacted before its order is on disk, and a request is never
// acknowledged before it is. The agent can die between any two actions; New and Started
// go on from whatever was written.
//
// # What is in force
//
// Accepted is the newest assignment that was taken, Good is the composition that stands
// on the machine: a top and, for each module, the bundle that was applied last. The
// composition that is wanted next has each module at its assigned bundle if it may go on
// now, else at the one of Good, else not at all. It may not go on while something that it
// needs is not at its level, before its time, while the target is frozen, or when it has
// failed for good and the repository's policy undoes what fails.
package machine
