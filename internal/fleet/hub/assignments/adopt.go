package assignments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// ErrForged is wrapped by errors about an assignment that no hub of the fleet signed for the target.
var ErrForged = errors.New("no hub of this fleet signed it for this target")

// Adopt stores the assignment that a target showed, unless the store has the same or a newer one: the store was lost,
// or is an old copy. The target keeps its content, and the leader computes the next assignment from it. The log of
// rollouts does not know its parts, so they are foreign. Adopt may be repeated, and works on each hub.
func (s *Store) Adopt(ctx context.Context, id fleet.TargetID, envelope []byte) error {
	g, err := s.shown(id, envelope)
	if err != nil {
		return err
	}
	s.shared.using.RLock()
	defer s.shared.using.RUnlock()
	if g.Payload == nil && len(g.Assignment.Modules) >= minSharedModules && s.shared.store() != nil {
		if g.Common, err = s.shared.put(ctx, g.Assignment.Root, g.Assignment.Modules, true); err != nil {
			return err
		}
	}
	for {
		unreadable := false
		e, err := s.Records.Assignments.Newest(ctx, string(id))
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			return err
		}
		if e.Rev > 0 {
			// An entry that cannot be read is replaced.
			had, err := s.Records.Assignments.Read(e)
			if err == nil && g.Assignment.Newer(had.Assignment) <= 0 {
				if s.provesLoss(g.Have(), had) {
					s.lost(g.Assignment)
				}
				return nil
			}
			unreadable = err != nil
			g.Fence, g.Before = had.Fence, had.Then(g.Assignment)
		}
		err = s.Records.Assignments.Put(ctx, string(id), g, e.Rev)
		if err == nil && !unreadable {
			s.lost(g.Assignment)
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
	}
}

// shown verifies an assignment that a target showed.
func (s *Store) shown(id fleet.TargetID, envelope []byte) (g records.Assignment, err error) {
	keys, err := s.Keys()
	if err != nil {
		return g, err
	}
	a, signatures, err := fleet.OpenSigned(envelope, keys)
	if err != nil {
		return g, fmt.Errorf("%w: %w", ErrForged, err)
	}
	if a.Target != id {
		return g, ErrForged
	}
	payload, err := payloadOf(envelope)
	if err != nil {
		return g, err
	}
	g.Assignment, g.Foreign = a, s.contents.one(records.ContentsOf(a))
	for _, one := range signatures { // without the ones that the target may have added
		if fleet.VerifyPayload(payload, fleet.AssignmentType, []fleet.Signature{one}, keys) == nil {
			g.Signatures = append(g.Signatures, one)
		}
	}
	if string(a.Marshal()) != string(payload) {
		g.Payload = payload // a hub of another version signed it
	}
	s.share(&g)
	return g, nil
}

// payloadOf returns the payload of an envelope that was verified.
func payloadOf(envelope []byte) ([]byte, error) {
	var e struct {
		Payload []byte `json:"payload"` // base64
	}
	err := json.Unmarshal(envelope, &e)
	return e.Payload, err
}
