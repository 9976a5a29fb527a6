package assignments

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	small "github.com/klauspost/compress/flate"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// sharedModules stores the root bundle and the modules that many assignments share. Their digests
// do not compress, so each set is stored once in a bucket, by its digest. A set is written before
// the first assignment that refers to it, and never changes. Only store must be set.
type sharedModules struct {
	// store returns the bucket. If it returns nil, each assignment contains its own modules.
	store func() fleet.Store
	// Writers of assignments hold the read lock; prune holds the write lock. It is locked before
	// mu.
	using sync.RWMutex
	mu    sync.Mutex
	known map[string]*records.Common // by digest
	there map[string]bool            // digests that the bucket contains
	idle  map[string]bool            // digests that were unused at the last prune
}

// minSharedModules is the smallest number of modules for which sharing saves space.
const minSharedModules = 4

// of stores the sets that several of these assignments share, and finds existing sets. The key of
// the result is the first element of the list of modules, which equal assignments share in memory.
func (c *sharedModules) of(ctx context.Context, all []fleet.Assignment) (map[*fleet.Assigned]*records.Common, error) {
	if c.store() == nil {
		return nil, nil
	}
	count, first := map[*fleet.Assigned]int{}, map[*fleet.Assigned]fleet.Assignment{}
	for _, a := range all {
		if len(a.Modules) >= minSharedModules {
			count[&a.Modules[0]]++
			first[&a.Modules[0]] = a
		}
	}
	out := map[*fleet.Assigned]*records.Common{}
	for at, a := range first {
		has, err := c.put(ctx, a.Root, a.Modules, count[at] > 1)
		if err != nil {
			return nil, err
		}
		if has != nil {
			out[at] = has
		}
	}
	return out, nil
}

// commonOf returns the shared set of an assignment, or nil.
func commonOf(shared map[*fleet.Assigned]*records.Common, a fleet.Assignment) *records.Common {
	if len(a.Modules) == 0 {
		return nil
	}
	c := shared[&a.Modules[0]]
	if c == nil || !fleet.SameModules([]fleet.Assigned{c.Root}, []fleet.Assigned{a.Root}) {
		return nil // it has another root bundle
	}
	return c
}

// put returns the set with these modules. If the set is missing, it stores it if worth is true, and
// otherwise returns nil.
func (c *sharedModules) put(ctx context.Context, top fleet.Assigned, modules []fleet.Assigned,
	worth bool) (*records.Common, error) {
	text, err := json.Marshal(append([]fleet.Assigned{top}, modules...))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	digest := hex.EncodeToString(sum[:16])
	c.mu.Lock()
	there, known := c.there[digest], c.known[digest]
	c.mu.Unlock()
	switch {
	case there:
		return known, nil
	case !worth:
		return nil, nil
	}
	var out bytes.Buffer
	w, err := small.NewWriter(&out, small.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(text); err == nil {
		err = w.Close()
	}
	if err == nil {
		_, err = c.store().Update(ctx, digest, out.Bytes(), 0)
	}
	if err != nil && !errors.Is(err, fleet.ErrConflict) {
		return nil, fmt.Errorf("cannot store the shared modules of assignments: %w", err)
	}
	return c.learn(digest, top, modules, true)
}

// learn caches a set and returns the cached one.
func (c *sharedModules) learn(digest string, top fleet.Assigned, modules []fleet.Assigned,
	there bool) (*records.Common, error) {
	made, err := fleet.NewSharedParts(top, modules)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxLists {
		c.known, c.there = map[string]*records.Common{}, map[string]bool{}
	}
	if c.known[digest] == nil {
		c.known[digest] = &records.Common{Digest: digest, SharedParts: made}
	}
	c.there[digest] = c.there[digest] || there
	return c.known[digest], nil
}

// get returns the set with a digest. If the store does not answer, it waits until ctx ends: a
// mirror must not omit an assignment for this reason. alike contains known lists of modules.
func (c *sharedModules) get(ctx context.Context, digest string, alike *lists) (*records.Common, error) {
	c.mu.Lock()
	known := c.known[digest]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if c.store() == nil {
		return nil, fmt.Errorf("cannot read the shared modules %.40q: this hub has no store for them", digest)
	}
	for {
		e, err := c.store().Get(ctx, digest)
		var parts []fleet.Assigned
		if errors.Is(err, fleet.ErrNotFound) {
			err = cmp.Or(records.Absent(ctx, c.store(), digest), err)
		}
		if err == nil {
			parts, err = records.ParseCommon(e.Value)
		} else if !errors.Is(err, fleet.ErrNotFound) && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		return c.learn(digest, parts[0], alike.one(parts[1:]), false)
	}
}
