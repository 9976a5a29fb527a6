package records

import (
	"encoding/json"
	"fmt"
	"slices"
	"weak"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// RolloutsFormat is the supported format.
const RolloutsFormat = "fettle.rollouts/1"

// Rollouts is one entry of the log of rollouts: events, or a snapshot. Its key is its number.
type Rollouts struct {
	Format string          `json:"format"`
	Events []rollout.Event `json:"events,omitempty"`
	// Snapshot replaces this entry and all earlier ones.
	Snapshot *rollout.Snapshot `json:"snapshot,omitempty"`
	// Contents contains the parts of assignments that the events name and that no earlier entry contains, by
	// digest. The key of a part whose content is equal to another one in the entry also has its name: "DIGEST PART".
	Contents map[string]fleet.Assigned `json:"contents,omitempty"`
}

// maxRolloutsBytes limits the size of a decompressed entry. The store limits the compressed size.
const maxRolloutsBytes = 32 << 20

// StoredRollouts is an entry as the store has it. A hub keeps all entries, which have an event for each target of each
// rollout, so it keeps them compressed. It is immutable.
type StoredRollouts struct {
	Snapshot bool // it has a snapshot
	Ordered  bool // a user gave a command

	text []byte
	read weak.Pointer[Rollouts] // until the next garbage collection
}

// StoreRollouts encodes an entry, and compresses it: it contains many similar identifiers.
func StoreRollouts(r Rollouts) (StoredRollouts, error) {
	text, err := json.Marshal(r)
	return storedOf(fleet.Compress(text), &r), err
}

func storedOf(text []byte, r *Rollouts) StoredRollouts {
	ordered := slices.ContainsFunc(r.Events, func(e rollout.Event) bool { return e.By != "" })
	return StoredRollouts{Snapshot: r.Snapshot != nil, Ordered: ordered, text: text, read: weak.Make(r)}
}

// Rollouts returns the entry. The caller must not modify it.
func (s StoredRollouts) Rollouts() (*Rollouts, error) {
	if r := s.read.Value(); r != nil {
		return r, nil
	}
	return readRollouts(s.text)
}

// FormatRollouts returns the text of an entry.
func FormatRollouts(s StoredRollouts) ([]byte, error) { return s.text, nil }

// ParseRollouts decodes the text of FormatRollouts. A hub must not continue with a log that it understands only in
// part, so an unknown format is an error.
func ParseRollouts(b []byte) (StoredRollouts, error) {
	r, err := readRollouts(b)
	if err != nil {
		return StoredRollouts{}, err
	}
	return storedOf(slices.Clone(b), r), nil
}

func readRollouts(b []byte) (*Rollouts, error) {
	r := new(Rollouts)
	text, err := new(fleet.Decompressor).Decompress(b, maxRolloutsBytes)
	if err == nil {
		err = json.Unmarshal(text, r)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read rollouts: %w", err)
	case r.Format != RolloutsFormat:
		return nil, fmt.Errorf("this version of fettle cannot read rollouts in the format %.40q", r.Format)
	}
	for i := range r.Events {
		share(&r.Events[i])
	}
	return r, nil
}

// share replaces strings of an event by equal ones in memory. Rollouts keep the targets and the contents of events.
func share(e *rollout.Event) {
	e.Target = fleet.Intern(e.Target)
	for i, c := range e.Before {
		e.Before[i] = rollout.Change{Part: fleet.Intern(c.Part), Digest: fleet.Intern(c.Digest)}
	}
	for i, id := range e.Targets {
		e.Targets[i] = fleet.Intern(id)
	}
	if e.Created == nil {
		return
	}
	for _, w := range e.Created.Waves {
		for i, id := range w.Members {
			w.Members[i] = fleet.Intern(id)
		}
	}
}
