package assignments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"golang.org/x/sync/errgroup"
)

// MaxBatch is the number of assignments in one batch, which syncs the disk once. It is small enough
// that the first agents start while later batches are prepared. writers limits concurrent writes if
// the store does not accept batches.
const (
	MaxBatch = 100
	writers  = 64
)

// sign signs an assignment. The draft replaces the current revision of the assignment in the store.
func (s *Store) sign(fence uint64, a fleet.Assignment, c *records.Common) (records.Draft[records.Assignment], error) {
	g := records.Assignment{Fence: fence, Assignment: a, Common: c}
	text := g.Signed()
	signature, err := fleet.SignPayload(text, fleet.AssignmentType, s.SigningKey())
	if err != nil {
		return records.Draft[records.Assignment]{}, err
	}
	signature.KeyID = fleet.Intern(signature.KeyID)
	g.Signatures = []fleet.Signature{signature}
	had, rev, _ := s.Records.Assignments.Get(string(a.Target))
	g.Foreign, g.Before = had.Foreign, had.Then(a)
	packed, err := s.packer.PackText(g, text)
	return records.Draft[records.Assignment]{Key: string(a.Target), Value: g, Text: packed, Rev: rev}, err
}

// Write signs assignments and writes them, in one batch if the store allows it.
func (s *Store) Write(ctx context.Context, fence uint64, all []fleet.Assignment) error {
	s.shared.using.RLock()
	defer s.shared.using.RUnlock()
	for i := range all {
		all[i].Modules = s.lists.one(all[i].Modules)
	}
	shared, err := s.shared.of(ctx, all)
	if err != nil {
		return err
	}
	drafts := make([]records.Draft[records.Assignment], len(all))
	for i, a := range all {
		if drafts[i], err = s.sign(fence, a, commonOf(shared, a)); err != nil {
			return err
		}
	}
	if len(drafts) > 1 && s.Records.Assignments.WriteAll(ctx, drafts) == nil {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, d := range drafts {
		g.Go(func() error { return s.write(ctx, d) })
	}
	return g.Wait()
}

// WriteInBatches is Write in batches of MaxBatch.
func (s *Store) WriteInBatches(ctx context.Context, fence uint64, all []fleet.Assignment) error {
	var errs []error
	for part := range slices.Chunk(all, MaxBatch) {
		errs = append(errs, s.Write(ctx, fence, part))
	}
	return errors.Join(errs...)
}

// write writes an assignment. If the store has a record with a higher fence, another hub leads now:
// the record stays, and write returns an error with ErrDeposed. If the target showed a newer assignment meanwhile, it
// returns an error with ErrShown.
func (s *Store) write(ctx context.Context, d records.Draft[records.Assignment]) error {
	for {
		err := s.Records.Assignments.Write(ctx, d)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		e, err := s.Records.Assignments.Entry(ctx, d.Key)
		if errors.Is(err, fleet.ErrNotFound) {
			e, err = fleet.Entry{}, nil
		}
		if err != nil {
			return err
		}
		var there records.StoredAssignment
		if len(e.Value) > 0 {
			if there, err = s.packer.Unpack(e.Value); err != nil {
				return err
			}
		}
		if there.Fence > d.Value.Fence {
			return fmt.Errorf("cannot write the assignment of %s: %w", d.Value.Assignment.Name, ErrDeposed)
		}
		if s.wasShown(e, there) {
			return fmt.Errorf("cannot write the assignment of %s: %w", d.Value.Assignment.Name, ErrShown)
		}
		d.Rev = e.Rev
		if d.Value.Before, err = beforeOf(there, d.Value.Assignment); err != nil {
			return err
		}
		if d.Text, err = s.packer.PackText(d.Value, d.Value.Signed()); err != nil {
			return err
		}
	}
}

// beforeOf returns the field Before of the record that replaces a stored one. The stored one can be missing.
func beforeOf(there records.StoredAssignment, next fleet.Assignment) (fleet.Have, error) {
	var number fleet.Have
	if there.Payload == nil {
		return number, nil
	}
	if err := json.Unmarshal(there.Payload, &number); err != nil {
		return number, fmt.Errorf("cannot read the number of an assignment of the store: %w", err)
	}
	g := records.Assignment{Assignment: fleet.Assignment{Epoch: number.Epoch, Generation: number.Generation}}
	if there.Before != nil {
		g.Before = *there.Before
	}
	return g.Then(next), nil
}

// wasShown reports whether the store has an assignment that a target showed, and that the mirror did not have. The
// mirror has it then.
func (s *Store) wasShown(e fleet.Entry, there records.StoredAssignment) bool {
	if _, rev, _ := s.Records.Assignments.Get(e.Key); len(there.Foreign) == 0 || e.Rev <= rev {
		return false
	}
	s.Records.Assignments.Take(e)
	return true
}

// ErrShown is wrapped by errors of a leader that did not know that a target showed a newer assignment. It must compute
// again.
var ErrShown = errors.New("the target has a newer assignment than the hubs")

// ErrDeposed is wrapped by errors of a hub that no longer leads.
var ErrDeposed = errors.New("this hub does not lead any longer: another hub has taken over")
