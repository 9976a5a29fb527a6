// Package here is the machine that this program runs on: it opens its engine, serves it
// to a fettle at another end, and takes back a run there that nobody confirmed. Programs
// are made of it; what has to know no real machine is given its functions.
//
//	m := here.Machine{Root: "/", State: "/var/lib/fettle", Identities: none}
//	x, done, err := here.Open(m, version)
package here

import "fettle.dev/fettle/internal/secret/vault"

// Machine says which machine is meant, with absolute paths.
type Machine struct {
	Root  string // its "/" on this machine
	State string // the state directory
	// Looks tells that nothing may be made: the state directory is missing, the
	// machine counts as one that fettle has never touched, and what the engine
	// would record is forgotten.
	Looks bool
	// Identities open what is secret on the machine, when something is; Identity
	// is the file that was named for them, "" for none.
	Identities func() (vault.Identities, error)
	Identity   string
}
