// Package notify notifies users and programs about a fleet. Pure functions decide which notices are
// due; Sender sends them.
//
//	state, changed := state.Fold(rule, notify.Observation{Now: now, Conditions: wrong, Events: events, Cursor: at})
//	if n := state.Due(now); n != nil {          // state is durable by now
//		err := sender.Send(ctx, rule, notify.Compose("acme", rule, *n))
//		state = state.Sent(n.ID, err, now)
//	}
//
// # Conditions and events
//
// A condition is a problem that lasts: an alarm, or a failed target. A rule reports its begin and
// its end, independently of how often it is seen. A condition that ends before it was reported is
// never reported. An event happens once.
//
// # Delivery at least once
//
// A notice is durable from before it is sent until it was delivered. So if another hub takes over,
// it sends the remaining notices, and a notice can arrive twice. The message contains the ID of the
// notice, with which a receiver detects duplicates.
package notify
