// Package machine is the state machine of an agent. It is pure: the input is an event and the time,
// the output is a list of actions. A driver, the package agent, executes the actions in order.
//
//	m := machine.New(machine.Config{Target: id, Boot: boot}, kept, newest, acked)
//	for _, a := range m.Step(machine.Started{}, now) { … } // and so on for every event
//
// # Durable state
//
// Kept is always written as a whole. Reports are stored in an outbox. A step that changes Kept
// begins with a Persist, so all later actions run after the new state is durable: no assignment is
// applied before its number is on disk, and no job is acknowledged before it is on disk. The agent
// can crash between any two actions; New and Started continue from the stored state.
//
// # Compositions
//
// Accepted is the newest accepted assignment. Applied is the composition that is applied on the host:
// a root bundle and, for each module, the last applied bundle. The next composition has each module
// at its assigned bundle if nothing blocks the module; otherwise at the bundle in Applied; otherwise
// not at all.
//
// A module is blocked
//
//   - while a module that it needs has not reached the required level,
//   - before its start time,
//   - while the windows of the assignment are closed and another composition is applied,
//   - while the target is frozen, and
//   - after it failed permanently under a policy that undoes failures.
package machine
