// Package coordination decides which owners hold the slots of a lock. It is pure: a state, an event and a time
// give a new state and an answer. The hubs store the state of each lock under one key with compare-and-set, so that
// all hubs together make one decision after another.
//
//	next, answer := coordination.Decide(state, coordination.Event{Kind: coordination.Acquire, Owner: "web1"}, now)
//	if answer.Refused == "" { … answer.Token, answer.Expires }
//
// # Meaning
//
// A lock has a name and a number of slots. With one slot it is a mutex, with several a semaphore. A slot is held by
// one owner, and an owner holds at most one slot of a lock.
//
//   - Lease: a slot is granted for the time of a lease, by the clock of the hub that decides. The owner renews the
//     lease with another Acquire.
//   - Token: each grant has a token that is larger than all tokens that the lock granted before. A program that
//     compares tokens can refuse a former holder. A token is at least the time of the grant in milliseconds, so
//     tokens also increase after a lock was removed, or was restored from a backup.
//   - Repetition: Acquire of a holder succeeds with the same token. Release of an owner without a slot succeeds and
//     changes nothing. If Release has a token, it only releases the slot with that token, so that a delayed request
//     does not release a later grant. If Release has an order, it has no effect after a later Acquire of the owner:
//     the owner may have begun other work with the same grant.
//   - A holder that crashed, or that a partition separates: its lease ends. If OnExpiry is Keep, the slot
//     remains taken and the holder is overdue: an alarm, until the holder returns or an operator releases the slot.
//     So hosts that do not return from a reboot take at most all slots, and no further host reboots. If OnExpiry is
//     Free, another owner can take the slot one Grace after the end of the lease. The former holder remains visible
//     as lost.
//   - A holder must stop its work before its lease ends. If it cannot reach a hub, it cannot renew.
//   - An owner that left the fleet cannot release its slot. If it left on purpose, the slot is free immediately. If it
//     may still work, because only the trust in it ended, the slot is free one Grace after the end of its lease.
//   - An owner waits from a refusal until it gets a slot, releases its slot, or does not repeat its request within
//     WaitTime. The list of waiting owners is only for display, and is not a queue. It contains at most MaxWaiters
//     owners. If a hub cannot store it, the request is refused nevertheless.
//   - Related owners, such as a supervisor and its guests, do not get slots at the same time, also if slots are free.
//     A relation counts if it was known at the request: an owner that has a slot keeps it.
//   - An unknown lock: refused. An undeclared lock grants nothing; its holders remain until they release it or until
//     an operator does.
//   - Fewer slots than holders: the holders remain. Nothing is granted until fewer owners hold than there are slots.
//   - Another leader, or several hubs: nothing changes, because the state contains all decisions.
//   - A clock that jumps: with Keep, a jump ahead only raises the alarm early. With Free, a hub frees a slot if it has
//     seen the lease unchanged for the time of the lease and one Grace, by a clock that does not jump. A hub that
//     starts has seen no lease. If a lease is longer than MaxObserved, a hub also frees the slot if the lease ended by
//     its wall clock, and it has seen the lease for MaxObserved. So a jump can only free slots with longer leases too
//     early, and only if their owners did not renew the lease for MaxObserved. Tokens help then.
//   - A fleet that was restored from a backup: the state may lack holders. So the lock grants nothing until
//     one lease after the time of the restoration.
package coordination
