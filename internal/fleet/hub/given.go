package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
)

// given is an assignment as the store has it.
type given struct {
	// Fence is the number of the lease under which it was written: what a hub writes that
	// does not lead any more, and does not know it yet, has a lower one.
	Fence uint64 `json:"fence"`
	// Envelope is the signed assignment, as agents get it.
	Envelope json.RawMessage `json:"envelope"`

	assignment fleet.Assignment
}

// parseGiven reads one and believes nothing that no hub signed.
func (h *Hub) parseGiven(b []byte) (given, error) {
	var g given
	if err := json.Unmarshal(b, &g); err != nil {
		return given{}, err
	}
	keys, err := h.signingKeys()
	if err != nil {
		return given{}, err
	}
	g.assignment, err = fleet.OpenAssignment(g.Envelope, keys)
	return g, err
}

// openGiven is parseGiven for whoever wants the assignment alone.
func (h *Hub) openGiven(b []byte) (fleet.Assignment, error) {
	g, err := h.parseGiven(b)
	return g.assignment, err
}

// give signs an assignment and writes it. A record of a higher fence stays, and is an
// error: this hub does not lead any more.
func (h *Hub) give(ctx context.Context, fence uint64, a fleet.Assignment) error {
	envelope, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, h.keys.SigningKey())
	if err != nil {
		return err
	}
	g := given{Fence: fence, Envelope: envelope, assignment: a}
	_, rev, _ := h.assignments.get(string(a.Target))
	for {
		err := h.assignments.put(ctx, string(a.Target), g, rev)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		e, err := h.assignments.store.Get(ctx, string(a.Target))
		if errors.Is(err, fleet.ErrNotFound) {
			e, err = fleet.Entry{}, nil
		}
		if err != nil {
			return err
		}
		var there given
		if len(e.Value) > 0 {
			if err := json.Unmarshal(e.Value, &there); err != nil {
				return err
			}
		}
		if there.Fence > fence {
			return fmt.Errorf("cannot write the assignment of %s: %w", a.Name, errDeposed)
		}
		rev = e.Rev
	}
}

var errDeposed = errors.New("another hub leads by now")
