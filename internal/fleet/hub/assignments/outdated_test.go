package assignments

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// The shared modules of assignments exist, and the answering server does not have them yet: the
// assignment is not omitted.
func TestSharedPartWhileTheStoreIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &bustest.Behind{Store: bustest.NewStore()}
		part, err := (&sharedModules{store: func() fleet.Store { return store.Store }}).put(t.Context(),
			fleet.Assigned{Revision: fleet.Revision{Commit: strings.Repeat("a", 40)},
				Bundle: fleet.Bundle{Digest: "sha256:" + strings.Repeat("b", 64), Size: 1}}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		store.Reads.Store(2)
		c := &sharedModules{store: func() fleet.Store { return store }}
		if _, err := c.get(t.Context(), part.Digest, &lists{}); err != nil {
			t.Error(err)
		}
		if _, err := c.get(t.Context(), "d2", &lists{}); !errors.Is(err, fleet.ErrNotFound) {
			t.Errorf("what does not exist: %v", err)
		}
	})
}
