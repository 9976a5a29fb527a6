package rollouts

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// maxParts limits the size of an entry to less than the limit of the store: the number of changes, members and
// contents in it. Each of them is compressed to at most 40 bytes, because it contains a digest or an ID.
const maxParts = rollout.PieceSize

// entries returns the entries of the log for the events of a decision. The contents that the events name are
// in an entry before them, or in the same entry.
func entries(events []rollout.Event, contents map[rollout.Change]fleet.Assigned) []records.Rollouts {
	var b batch
	for _, c := range slices.SortedFunc(maps.Keys(contents), compareChanges) {
		p := contents[c]
		to := b.next(contentParts + len(p.Needs)).Contents
		to[contentKey(to, c)] = p
	}
	for _, e := range events {
		for _, piece := range e.Pieces() {
			entry := b.next(partsOf(piece))
			entry.Events = append(entry.Events, piece)
		}
	}
	return b.entries
}

func compareChanges(a, b rollout.Change) int {
	return cmp.Or(cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.Part, b.Part))
}

// contentKey returns the key of a content in an entry: its digest, with the name of its part if another part has equal
// content.
func contentKey(in map[string]fleet.Assigned, c rollout.Change) string {
	if _, used := in[c.Digest]; used {
		return c.Digest + " " + c.Part
	}
	return c.Digest
}

// contentOfKey is the inverse of contentKey.
func contentOfKey(key string, p fleet.Assigned) rollout.Change {
	digest, _, _ := strings.Cut(key, " ")
	return rollout.Change{Part: partName(p), Digest: digest}
}

// The parts of a content are its digests, names and signatures. The parts of an event are its target and its reason.
const (
	contentParts = 20
	eventParts   = 20
)

// partsOf returns the number of parts of an event.
func partsOf(e rollout.Event) int {
	n := eventParts + len(e.Before) + len(e.Targets) + e.Defined.Parts()
	if e.Created != nil {
		n += len(e.Created.Changes)
		for _, w := range e.Created.Waves {
			n += len(w.Members)
		}
	}
	return n
}

// batch distributes the parts of a decision to entries.
type batch struct {
	entries []records.Rollouts
	parts   int // of the last entry
}

// next returns the entry for the next parts.
func (b *batch) next(parts int) *records.Rollouts {
	if len(b.entries) == 0 || b.parts > 0 && b.parts+parts > maxParts {
		b.entries = append(b.entries, records.Rollouts{Format: records.RolloutsFormat,
			Contents: map[string]fleet.Assigned{}})
		b.parts = 0
	}
	b.parts += parts
	return &b.entries[len(b.entries)-1]
}
