// Package fleet has the data types that hubs and agents share: targets, revisions, assignments and
// reports, with their checks and signatures. It imports no transport and makes no decisions.
//
//	a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: id, Epoch: 1, Generation: 7, …}
//	s, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, signer)
//	got, err := fleet.OpenAssignment(s, keys)   // on the agent, before anything else is read
//
// # Responsibilities
//
// A hub only assigns: it publishes one Assignment for each target, with the next generation of its
// epoch. The agent does the work: it downloads the bundles of the assignment, compiles, plans,
// applies and checks by itself, and reports transitions. A report has the whole Status, so a lost
// report does no harm. It has a number of the agent, so a duplicate counts once.
//
// # Order of assignments
//
// (Epoch, Generation) only increases on a target: the agent stores the highest accepted pair
// durably before it acts on it, and refuses a lower one. A hub that lost its store begins the next
// epoch. A return to older content is a new generation.
package fleet
