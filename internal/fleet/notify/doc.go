// Package notify tells people and programs what happens in a fleet. What is told, when,
// and when again is decided purely; Sender does it.
//
//	state, changed := state.Fold(rule, notify.Seen{Now: now, Conditions: wrong, Events: events, Cursor: at})
//	if n := state.Due(now); n != nil {          // state is durable by now
//		err := sender.Send(ctx, rule, notify.Compose("acme", rule, *n))
//		state = state.Sent(n.ID, err, now)
//	}
//
// # Conditions and events
//
// A condition is something that is wrong for a while: an alarm, a target that failed. It is
// told when it begins and when it ends, however often it is seen in between. One that is over
// before it was told is not told at all. An event happened once.
//
// # Once, or twice with the same name
//
// A notice is durable before it is sent and until it was taken, and its ID is in what is sent.
// So a hub that takes over sends what another one did not get rid of, and who
// gets a notice twice knows it by its ID.
package notify
