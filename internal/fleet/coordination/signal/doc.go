// Package signal decides which signals of a name are kept. A signal is a named message with a payload, for which states
// wait. The package is pure: a state, an event and a time give a new state and an answer. The hubs store the state of
// each name under one key with compare-and-set.
//
//	next, answer := signal.Decide(state, signal.Event{Kind: signal.Send, Sender: "kim", Payload: "v2"}, now)
//	sent, ok := next.Newest(since, now)
//
// # Meaning
//
//   - Sent: a signal counts as sent until its time Keep has passed, or until an operator clears the name. A state that
//     waits since the begin of its run ignores earlier signals.
//   - Repetition: the same sender and payload within Keep is one signal with a new time. So a repeated request after a
//     lost answer makes no second signal.
//   - Order: signals are in the order of their times at the hubs. The newest one answers a wait.
//   - Absence: the wait continues until a signal is sent, or until its timeout.
//   - Senders: a user with the right, or a target that the definition permits. The caller compares targets.
//   - An unknown or undeclared name: refused. Signals of an undeclared name end.
//   - Too many: only the newest MaxSent signals are kept.
//   - Another leader, or several hubs: nothing changes, because the state contains all decisions.
//   - Clocks: a signal ends by the clock of the hub that decides. A clock that jumps forward ends signals early, and a
//     clock that jumps back keeps them longer. The clocks of hubs may differ by a minute, so a wait since the begin of
//     its run can ignore a signal, or accept one from before, within this time.
//   - A fleet that was restored from a backup: later signals are lost, and senders must repeat them.
package signal
