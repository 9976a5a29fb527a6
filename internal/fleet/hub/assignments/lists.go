package assignments

import (
	"hash/maphash"
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// lists replaces equal lists of modules by one, so that targets with the same configuration share
// memory. The zero value is ready. It is safe for concurrent use.
type lists struct {
	mu   sync.Mutex
	seed maphash.Seed // of all hashes in all
	all  map[uint64][]fleet.Assigned
}

// maxLists limits the number of lists in the table. A full table is emptied: this only costs
// memory.
const maxLists = 1000

// one returns a list that is equal to list. The caller must no longer modify either.
func (l *lists) one(list []fleet.Assigned) []fleet.Assigned {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) >= maxLists {
		l.seed, l.all = maphash.MakeSeed(), map[uint64][]fleet.Assigned{}
	}
	var hash maphash.Hash
	hash.SetSeed(l.seed)
	for i := range list {
		for _, s := range [...]string{list[i].Module, list[i].Bundle.Digest, list[i].Revision.Commit} {
			_, _ = hash.WriteString(s) // never fails
		}
	}
	key := hash.Sum64()
	if had := l.all[key]; had != nil && fleet.SameModules(had, list) {
		return had
	}
	l.all[key] = list
	return list
}
