package hub

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	small "github.com/klauspost/compress/flate"

	"fettle.dev/fettle/internal/fleet"
)

// sharedModules is what assignments of many targets have in common: the top and the modules of
// each, with their digests, which nothing makes smaller. It lies in a bucket once, by its
// digest, before the first assignment that names it, and nobody changes it.
type sharedModules struct {
	store fleet.Store // nil leaves with each assignment what it has
	// using is held by who writes assignments that name what is there, and whole by who takes
	// away what none names. It is taken before mu.
	using sync.RWMutex
	mu    sync.Mutex
	known map[string]*common // by digest
	there map[string]bool    // what this hub has seen to
	idle  map[string]bool    // what none named when it was looked through last
}

// minSharedModules is how many modules are worth it.
const minSharedModules = 4

// common is one of them.
type common struct {
	digest string
	fleet.SharedParts
}

// of finds what assignments that are written at once have in common with each other, or with
// one that was written before, and sees to it that it is in the bucket. It gives it by the
// first place of the list of modules, which they share.
func (c *sharedModules) of(ctx context.Context, all []fleet.Assignment) (map[*fleet.Assigned]*common, error) {
	if c.store == nil {
		return nil, nil
	}
	count, first := map[*fleet.Assigned]int{}, map[*fleet.Assigned]fleet.Assignment{}
	for _, a := range all {
		if len(a.Modules) >= minSharedModules {
			count[&a.Modules[0]]++
			first[&a.Modules[0]] = a
		}
	}
	out := map[*fleet.Assigned]*common{}
	for at, a := range first {
		has, err := c.put(ctx, a.Top, a.Modules, count[at] > 1)
		if err != nil {
			return nil, err
		}
		if has != nil {
			out[at] = has
		}
	}
	return out, nil
}

// commonOf is what an assignment has in common with others, nil for nothing.
func commonOf(shared map[*fleet.Assigned]*common, a fleet.Assignment) *common {
	if len(a.Modules) == 0 {
		return nil
	}
	c := shared[&a.Modules[0]]
	if c == nil || !fleet.SameModules([]fleet.Assigned{c.Top}, []fleet.Assigned{a.Top}) {
		return nil // it has another top
	}
	return c
}

// put sees to it that something is in the bucket. What is not there, and not worth it, is nil.
func (c *sharedModules) put(ctx context.Context, top fleet.Assigned, modules []fleet.Assigned, worth bool) (*common, error) {
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
		_, err = c.store.Update(ctx, digest, out.Bytes(), 0)
	}
	if err != nil && !errors.Is(err, fleet.ErrConflict) {
		return nil, fmt.Errorf("cannot keep what assignments have in common: %w", err)
	}
	return c.learn(digest, top, modules, true)
}

// learn keeps one, and gives it as it is known.
func (c *sharedModules) learn(digest string, top fleet.Assigned, modules []fleet.Assigned, there bool) (*common, error) {
	made, err := fleet.NewSharedParts(top, modules)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxLists {
		c.known, c.there = map[string]*common{}, map[string]bool{}
	}
	if c.known[digest] == nil {
		c.known[digest] = &common{digest, made}
	}
	c.there[digest] = c.there[digest] || there
	return c.known[digest], nil
}

// again forgets what is there: another hub may have taken it away while it led.
func (c *sharedModules) again() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there, c.idle = map[string]bool{}, nil
}

// get gives what has a digest. Who follows assignments waits here for a bus that is away:
// none of them may be left out for that. alike has the lists that are known already.
func (c *sharedModules) get(ctx context.Context, digest string, alike *lists) (*common, error) {
	c.mu.Lock()
	known := c.known[digest]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if c.store == nil {
		return nil, fmt.Errorf("cannot read what assignments have in common as %.40q", digest)
	}
	for {
		e, err := c.store.Get(ctx, digest)
		var parts []fleet.Assigned
		if errors.Is(err, fleet.ErrNotFound) {
			err = cmp.Or(absent(ctx, c.store, digest), err)
		}
		if err == nil {
			parts, err = parseCommon(e.Value)
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

// keep forgets all others. What is asked for again is read again, and what is to be written again
// is written, whether it is there or not.
func (c *sharedModules) keep(used map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.known, func(digest string, _ *common) bool { return !used[digest] })
	maps.DeleteFunc(c.there, func(digest string, _ bool) bool { return !used[digest] })
}

func parseCommon(b []byte) (parts []fleet.Assigned, err error) {
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b)), fleet.MaxAssignment))
	if err == nil {
		err = json.Unmarshal(text, &parts)
	}
	if err == nil && len(parts) == 0 {
		err = errors.New("there is nothing in it")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read what assignments have in common: %w", err)
	}
	return parts, nil
}

// prune takes away what no assignment names, neither now nor when it was looked through
// before. Only who leads does: who writes assignments knows what is there.
func (c *sharedModules) prune(ctx context.Context, named func() map[string]bool) error {
	c.using.Lock()
	defer c.using.Unlock()
	entries, err := c.store.All(ctx)
	if err != nil {
		return err
	}
	used, idle := named(), map[string]bool{}
	c.keep(used)
	for _, e := range entries {
		switch {
		case used[e.Key]:
		case !c.idle[e.Key]:
			idle[e.Key] = true
		default:
			if err := c.store.Delete(ctx, e.Key, e.Rev); err != nil && !errors.Is(err, fleet.ErrConflict) && !errors.Is(err, fleet.ErrNotFound) {
				return err
			}
		}
	}
	c.idle = idle
	return nil
}
