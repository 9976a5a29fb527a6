// Package assignments stores the assignments of targets, signed by hubs, and gives them to agents.
//
//	s := assignments.New(assignments.Config{Records: table, Keys: keyring.SigningKeys, SigningKey: key, …})
//	err := s.Write(ctx, fence, all) // only the leader writes
//	a, err := s.Open(entry)
//
// A target without a record gets no assignment. A record that no hub of the fleet signed, or whose
// shared modules are lost, is not read, and the leader writes it again. Write may be repeated, and
// never replaces the record of a newer leader. After an interruption, some assignments of a batch
// may be written. The next leader compares all of them with the desired assignments.
package assignments

import (
	"context"
	"crypto/ed25519"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// Config contains what a Store needs of its hub.
type Config struct {
	Records *records.Table
	// Keys returns the signing keys of all hubs, and SigningKey the key of this hub.
	Keys       func() (fleet.Keys, error)
	SigningKey func() ed25519.PrivateKey
	Context    func() context.Context // ends with the hub
	// Lost is called when a target proves that the store lost its assignment of a time. It may be nil.
	Lost func(id fleet.TargetID, issued time.Time)
}

// Store reads and writes assignments. It is safe for concurrent use. Its caches have their own locks.
type Store struct {
	Config
	lists    lists
	contents contents
	shared   sharedModules
	packer   records.Packer
}

// New returns a store. Its Records may be opened later, but before the first use.
func New(c Config) *Store {
	return &Store{Config: c, shared: sharedModules{store: func() fleet.Store { return c.Records.Buckets["lists"] }}}
}

// Pack encodes an assignment for the bucket.
func (s *Store) Pack(g records.Assignment) ([]byte, error) { return s.packer.Pack(g) }
