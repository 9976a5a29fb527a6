package hub

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// away is a store that cannot be written some times.
type away struct {
	fleet.Store
	times int
}

func (s *away) Update(ctx context.Context, key string, value []byte, rev uint64) (uint64, error) {
	if s.times > 0 {
		s.times--
		return 0, errors.New("it is away")
	}
	return s.Store.Update(ctx, key, value, rev)
}

// A commit that came while the store was away is not forgotten: the repository tells of it
// once.
func TestCommitWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		warned := 0
		h := &Hub{conf: Config{Now: time.Now, Warn: func(string) { warned++ }}, log: bustest.NewLog()}
		h.refs = newMirror[namedRef](&away{bustest.NewStore(), 3}, "ref/", nil)
		rev := fleet.Revision{Repository: "site", Commit: "c0ffee"}
		h.found(t.Context(), map[string]fleet.Revision{"main": rev})
		if r, _, there := h.refs.get(refKey("main")); !there || r.Revision != rev {
			t.Errorf("the ref is %+v", r)
		}
		if warned != 3 {
			t.Errorf("%d times somebody was told", warned)
		}
	})
}
