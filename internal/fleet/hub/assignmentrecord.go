package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// fullAssignment returns the signed text of a stored assignment, and its shared modules if it has
// some.
func (h *Hub) fullAssignment(s records.StoredAssignment) ([]byte, *records.Common, error) {
	if s.Common == "" {
		return s.Payload, nil, nil
	}
	c, err := h.sharedModules.get(h.ctx, s.Common, &h.lists)
	if err != nil {
		return nil, nil, err
	}
	text, err := c.Text(s.Payload)
	return text, c, err
}

// parseAssignmentRecord decodes a stored assignment. It returns an error if no hub of the fleet
// signed it.
func (h *Hub) parseAssignmentRecord(b []byte) (records.Assignment, error) {
	s, err := h.packer.Unpack(b)
	if err != nil {
		return records.Assignment{}, err
	}
	text, common, err := h.fullAssignment(s)
	if err != nil {
		return records.Assignment{}, err
	}
	keys, err := h.signingKeys()
	if err != nil {
		return records.Assignment{}, err
	}
	if err := fleet.VerifyPayload(text, fleet.AssignmentType, s.Signatures, keys); err != nil {
		return records.Assignment{}, err
	}
	for i := range s.Signatures {
		s.Signatures[i].KeyID = fleet.Intern(s.Signatures[i].KeyID)
	}
	g := records.Assignment{Fence: s.Fence, Signatures: s.Signatures, Common: common}
	if common != nil {
		g.Assignment, err = common.Parse(s.Payload)
	} else {
		g.Assignment, err = fleet.ParseAssignment(text)
	}
	if err != nil {
		return records.Assignment{}, err
	}
	if !bytes.Equal(g.Signed(), text) {
		g.Payload = text // a hub of another version wrote it
	}
	h.share(&g)
	return g, nil
}

// share replaces strings and lists of a decoded assignment by equal ones in memory.
func (h *Hub) share(g *records.Assignment) {
	a := &g.Assignment
	if g.Common == nil {
		a.Root, a.Modules = h.lists.one([]fleet.Assigned{a.Root})[0], h.lists.one(a.Modules)
	}
	a.Labels, a.Fleet, a.Format = h.records.Labels.Labels(a.Labels), fleet.Intern(a.Fleet), fleet.Intern(a.Format)
}

// openAssignmentRecord returns the assignment of an entry of the store. The mirror usually has it
// already.
func (h *Hub) openAssignmentRecord(e fleet.Entry) (fleet.Assignment, error) {
	if g, rev, ok := h.records.Assignments.Get(e.Key); ok && rev == e.Rev {
		return g.Assignment, nil
	}
	g, err := h.records.Assignments.Read(e)
	return g.Assignment, err
}

// sign signs an assignment. The draft replaces the current revision of the assignment in the store.
func (h *Hub) sign(fence uint64, a fleet.Assignment, c *records.Common) (records.Draft[records.Assignment], error) {
	g := records.Assignment{Fence: fence, Assignment: a, Common: c}
	text := g.Signed()
	signature, err := fleet.SignPayload(text, fleet.AssignmentType, h.keys.SigningKey())
	if err != nil {
		return records.Draft[records.Assignment]{}, err
	}
	signature.KeyID = fleet.Intern(signature.KeyID)
	g.Signatures = []fleet.Signature{signature}
	_, rev, _ := h.records.Assignments.Get(string(a.Target))
	packed, err := h.packer.PackText(g, text)
	return records.Draft[records.Assignment]{Key: string(a.Target), Value: g, Text: packed, Rev: rev}, err
}

// giveAll signs assignments and writes them, in one batch if the store allows it.
func (h *Hub) giveAll(ctx context.Context, fence uint64, all []fleet.Assignment) error {
	h.sharedModules.using.RLock()
	defer h.sharedModules.using.RUnlock()
	for i := range all {
		all[i].Modules = h.lists.one(all[i].Modules)
	}
	shared, err := h.sharedModules.of(ctx, all)
	if err != nil {
		return err
	}
	drafts := make([]records.Draft[records.Assignment], len(all))
	for i, a := range all {
		if drafts[i], err = h.sign(fence, a, commonOf(shared, a)); err != nil {
			return err
		}
	}
	if len(drafts) > 1 && h.records.Assignments.WriteAll(ctx, drafts) == nil {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, d := range drafts {
		g.Go(func() error { return h.give(ctx, d) })
	}
	return g.Wait()
}

// signAll is giveAll in batches.
func (h *Hub) signAll(ctx context.Context, fence uint64, all []fleet.Assignment) error {
	var errs []error
	for part := range slices.Chunk(all, together) {
		errs = append(errs, h.giveAll(ctx, fence, part))
	}
	return errors.Join(errs...)
}

// give writes an assignment. If the store has a record with a higher fence, another hub leads now:
// the record stays, and give returns an error with errDeposed.
func (h *Hub) give(ctx context.Context, d records.Draft[records.Assignment]) error {
	for {
		err := h.records.Assignments.Write(ctx, d)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		e, err := h.records.Assignments.Entry(ctx, d.Key)
		if errors.Is(err, fleet.ErrNotFound) {
			e, err = fleet.Entry{}, nil
		}
		if err != nil {
			return err
		}
		var there records.StoredAssignment
		if len(e.Value) > 0 {
			if there, err = h.packer.Unpack(e.Value); err != nil {
				return err
			}
		}
		if there.Fence > d.Value.Fence {
			return fmt.Errorf("cannot write the assignment of %s: %w", d.Value.Assignment.Name, errDeposed)
		}
		d.Rev = e.Rev
	}
}

var errDeposed = errors.New("this hub does not lead any longer: another hub has taken over")

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
