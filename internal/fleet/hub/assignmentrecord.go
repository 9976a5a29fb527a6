package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"sync"

	small "github.com/klauspost/compress/flate"
	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/fleet"
)

// assignmentRecord is the signed assignment of one target in the memory of a hub. The envelope is
// not stored: envelope builds it for each request. Targets with equal modules share one list of
// modules, so no field of assignment may be modified.
type assignmentRecord struct {
	// fence is the number of the lease of the leader that wrote the record. A hub that lost the
	// lease without noticing has a lower number than its successor.
	fence      uint64
	signatures []fleet.Signature
	assignment fleet.Assignment
	// payload contains the signed bytes, or nil if assignment.Marshal returns exactly these bytes.
	payload []byte
	// common contains the root bundle and the modules if they are stored once for many targets,
	// otherwise nil.
	common *common
}

// storedAssignment is the stored form of an assignmentRecord: compressed JSON. It contains the
// payload instead of the envelope that agents get, because the base64 of an envelope compresses
// badly.
type storedAssignment struct {
	Fence uint64 `json:"fence"`
	// Common is the digest of the shared modules, or "" if the payload is complete.
	Common     string            `json:"common,omitempty"`
	Payload    json.RawMessage   `json:"payload"`
	Signatures []fleet.Signature `json:"signatures"`
}

// withWords is the first byte of a record that is compressed with the dictionary storedWords.
// Records of older versions have no dictionary, and no deflate block begins with this byte.
const withWords = 6

// storedWords is the dictionary of the compression. It belongs to the format and must not change.
const storedWords = `"signatures":[{"keyid":"","sig":"=="}]}{"fence":1,"common":"","payload":{"format":"fettle.assignment/2","target":"","name":"web","epoch":17,"generation":1,"issued":17,` +
	`"labels":{"env":"prod","role":"web"},"fleet":"prod","frozen":"","withdrawn":"","revisions":[{"repository":"","commit":"","time":0}],"top":{"bundle":{"digest":"","size":0},"revision":0},"modules":null},"signatures":[{"keyid":"`

// signed returns the bytes that the signatures cover.
func (g assignmentRecord) signed() []byte {
	switch {
	case g.payload != nil:
		return g.payload
	case g.common != nil:
		return g.common.Marshal(g.assignment)
	}
	return g.assignment.Marshal()
}

// envelope returns the signed assignment as agents get it.
func (g assignmentRecord) envelope() ([]byte, error) {
	return fleet.Envelope(g.signed(), fleet.AssignmentType, g.signatures...)
}

// packer encodes and decodes stored assignments. The zero value is ready.
type packer struct{ writers, readers sync.Pool } // pools: each compressor is large, and each target has an assignment

// pack returns the stored form of an assignment.
func (p *packer) pack(g assignmentRecord) ([]byte, error) { return p.packText(g, g.signed()) }

// packText is pack for a caller that has the signed text already.
func (p *packer) packText(g assignmentRecord, signed []byte) ([]byte, error) {
	signatures, err := json.Marshal(g.signatures)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, ok := p.writers.Get().(*small.Writer)
	if ok {
		w.Reset(&out)
	} else if w, err = small.NewWriterDict(&out, 5, []byte(storedWords)); err != nil {
		return nil, err
	}
	defer p.writers.Put(w)
	out.WriteByte(withWords)
	common := ""
	if g.common != nil {
		common, signed = fmt.Sprintf(`"common":%q,`, g.common.digest), g.assignment.WithoutSharedParts().Marshal()
	}
	// The payload is already JSON. json.Marshal would parse all of it again.
	_, err = fmt.Fprintf(w, `{"fence":%d,%s"payload":%s,"signatures":%s}`, g.fence, common, signed, signatures)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

// unpack decodes a stored assignment without verifying its signatures.
func (p *packer) unpack(b []byte) (s storedAssignment, err error) {
	const most = 2 * fleet.MaxAssignment
	var words []byte
	if len(b) > 0 && b[0] == withWords {
		b, words = b[1:], []byte(storedWords)
	}
	r, ok := p.readers.Get().(io.Reader)
	if !ok {
		r = small.NewReader(nil)
	}
	defer p.readers.Put(r)
	if err := r.(small.Resetter).Reset(bytes.NewReader(b), words); err != nil {
		return s, err
	}
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && len(text) > most {
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("cannot read an assignment of the store: %w", err)
	}
	return s, nil
}

// fullAssignment returns the signed text of a stored assignment, and its shared modules if it has
// some.
func (h *Hub) fullAssignment(s storedAssignment) ([]byte, *common, error) {
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
func (h *Hub) parseAssignmentRecord(b []byte) (assignmentRecord, error) {
	s, err := h.packer.unpack(b)
	if err != nil {
		return assignmentRecord{}, err
	}
	text, common, err := h.fullAssignment(s)
	if err != nil {
		return assignmentRecord{}, err
	}
	keys, err := h.signingKeys()
	if err != nil {
		return assignmentRecord{}, err
	}
	if err := fleet.VerifyPayload(text, fleet.AssignmentType, s.Signatures, keys); err != nil {
		return assignmentRecord{}, err
	}
	for i := range s.Signatures {
		s.Signatures[i].KeyID = fleet.Intern(s.Signatures[i].KeyID)
	}
	g := assignmentRecord{fence: s.Fence, signatures: s.Signatures, common: common}
	if common != nil {
		g.assignment, err = common.Parse(s.Payload)
	} else {
		g.assignment, err = fleet.ParseAssignment(text)
	}
	if err != nil {
		return assignmentRecord{}, err
	}
	if !bytes.Equal(g.signed(), text) {
		g.payload = text // a hub of another version wrote it
	}
	h.share(&g)
	return g, nil
}

// share replaces strings and lists of a decoded assignment by equal ones in memory.
func (h *Hub) share(g *assignmentRecord) {
	a := &g.assignment
	if g.common == nil {
		a.Root, a.Modules = h.lists.one([]fleet.Assigned{a.Root})[0], h.lists.one(a.Modules)
	}
	a.Labels, a.Fleet, a.Format = h.labels.Labels(a.Labels), fleet.Intern(a.Fleet), fleet.Intern(a.Format)
}

// openAssignmentRecord returns the assignment of an entry of the store. The mirror usually has it
// already.
func (h *Hub) openAssignmentRecord(e fleet.Entry) (fleet.Assignment, error) {
	if g, rev, ok := h.assignments.get(e.Key); ok && rev == e.Rev {
		return g.assignment, nil
	}
	g, err := h.assignments.read(e)
	return g.assignment, err
}

// sign signs an assignment. The draft replaces the current revision of the assignment in the store.
func (h *Hub) sign(fence uint64, a fleet.Assignment, c *common) (draft[assignmentRecord], error) {
	g := assignmentRecord{fence: fence, assignment: a, common: c}
	text := g.signed()
	signature, err := fleet.SignPayload(text, fleet.AssignmentType, h.keys.SigningKey())
	if err != nil {
		return draft[assignmentRecord]{}, err
	}
	signature.KeyID = fleet.Intern(signature.KeyID)
	g.signatures = []fleet.Signature{signature}
	_, rev, _ := h.assignments.get(string(a.Target))
	packed, err := h.packer.packText(g, text)
	return draft[assignmentRecord]{string(a.Target), g, packed, rev}, err
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
	drafts := make([]draft[assignmentRecord], len(all))
	for i, a := range all {
		if drafts[i], err = h.sign(fence, a, commonOf(shared, a)); err != nil {
			return err
		}
	}
	if len(drafts) > 1 && h.assignments.writeAll(ctx, drafts) == nil {
		return nil
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(writers)
	for _, d := range drafts {
		g.Go(func() error { return h.give(ctx, d) })
	}
	return g.Wait()
}

// give writes an assignment. If the store has a record with a higher fence, another hub leads now:
// the record stays, and give returns an error with errDeposed.
func (h *Hub) give(ctx context.Context, d draft[assignmentRecord]) error {
	for {
		err := h.assignments.write(ctx, d)
		if !errors.Is(err, fleet.ErrConflict) {
			return err
		}
		e, err := h.assignments.store.Get(ctx, d.key)
		if errors.Is(err, fleet.ErrNotFound) {
			e, err = fleet.Entry{}, nil
		}
		if err != nil {
			return err
		}
		var there storedAssignment
		if len(e.Value) > 0 {
			if there, err = h.packer.unpack(e.Value); err != nil {
				return err
			}
		}
		if there.Fence > d.value.fence {
			return fmt.Errorf("cannot write the assignment of %s: %w", d.value.assignment.Name, errDeposed)
		}
		d.rev = e.Rev
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
