// Package here opens the engine of the machine on which the process runs. It also serves
// that engine to a fettle at another end of a connection, and reverts an armed run that
// was not confirmed. Binaries use this package; packages that must not depend on a real
// machine receive its functions as parameters.
//
//	m := here.Machine{Root: "/", State: "/var/lib/fettle", Identities: none}
//	x, done, err := here.Open(m, version)
package here

import "fettle.dev/fettle/internal/secret/vault"

// Machine identifies a machine by absolute paths.
type Machine struct {
	Root  string // its "/" on this machine
	State string // the state directory
	// ReadOnly means that a missing state directory is not created. fettle then treats the machine
	// as never changed, and discards records of the engine.
	ReadOnly bool
	// Identities open what is secret on the machine, when something is; Identity
	// is the file that was named for them, "" for none.
	Identities func() (vault.Identities, error)
	Identity   string
}
