package assignments

import (
	"hash/maphash"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// contents replaces equal lists of contents by one, like lists. The zero value is ready. It is safe for concurrent use.
type contents struct {
	mu   sync.Mutex
	seed maphash.Seed
	all  map[uint64][]records.Content
}

// one returns a list that is equal to list. The caller must no longer modify either.
func (c *contents) one(list []records.Content) []records.Content {
	if len(list) == 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil || len(c.all) >= maxLists {
		c.seed, c.all = maphash.MakeSeed(), map[uint64][]records.Content{}
	}
	var hash maphash.Hash
	hash.SetSeed(c.seed)
	for i := range list {
		list[i].Part, list[i].Digest = fleet.Intern(list[i].Part), fleet.Intern(list[i].Digest)
		_, _ = hash.WriteString(list[i].Part)
		_, _ = hash.WriteString(list[i].Digest)
	}
	key := hash.Sum64()
	if had := c.all[key]; slices.Equal(had, list) {
		return had
	}
	c.all[key] = list
	return list
}
