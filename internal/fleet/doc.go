// Package fleet holds the words that hubs and agents share: targets, revisions,
// assignments and reports, with their checks and their signatures. It imports no
// transport and decides nothing.
//
//	a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: id, Epoch: 1, Generation: 7, …}
//	s, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, signer)
//	got, err := fleet.OpenAssignment(s, keys)   // on the agent, before anything else is read
//
// # Who says what
//
// A hub only grants: it publishes, for each target, one Assignment with the next
// generation of its epoch. The agent enacts: it fetches the bundles that the
// assignment names, compiles, plans, applies and checks by itself, and reports
// transitions. A report carries the whole Status, so a lost one does no harm, and a
// number of the agent's own, so one that comes twice counts once.
//
// # Order of assignments
//
// (Epoch, Generation) only grows on a target: the agent keeps the highest pair that it
// accepted, durably, before it acts on it, and refuses a lower one. A hub that lost its
// store begins the next epoch. Going back to old content is a new generation.
package fleet
