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

// given is an assignment as this hub has it: the signature beside it, from which the
// envelope is made for who asks. Targets with the same modules share the list of them.
type assignmentRecord struct {
	// fence is the number of the lease under which it was written: what a hub writes that
	// does not lead any more, and does not know it yet, has a lower one.
	fence      uint64
	signatures []fleet.Signature
	assignment fleet.Assignment
	// payload is what was signed, nil where that is what the assignment gives.
	payload []byte
	// common is its top and modules where they lie among the commons, else nil.
	common *common
}

// stored is given in the store: compressed JSON. The envelope is not in it as agents get
// it, since base64 hides from the compression that modules look alike.
type storedAssignment struct {
	Fence uint64 `json:"fence"`
	// Common is the digest of the top and the modules that the payload has not.
	Common     string            `json:"common,omitempty"`
	Payload    json.RawMessage   `json:"payload"`
	Signatures []fleet.Signature `json:"signatures"`
}

// withWords is the first byte of what was compressed with storedWords. What has none is of an
// older program, and begins with no such byte: there is no block of deflate like it.
const withWords = 6

// storedWords is what each has. It belongs to the format, and stays as it is for ever.
const storedWords = `"signatures":[{"keyid":"","sig":"=="}]}{"fence":1,"common":"","payload":{"format":"fettle.assignment/2","target":"","name":"web","epoch":17,"generation":1,"issued":17,` +
	`"labels":{"env":"prod","role":"web"},"fleet":"prod","frozen":"","withdrawn":"","revisions":[{"repository":"","commit":"","time":0}],"top":{"bundle":{"digest":"","size":0},"revision":0},"modules":null},"signatures":[{"keyid":"`

// signed is what the signatures are of.
func (g assignmentRecord) signed() []byte {
	switch {
	case g.payload != nil:
		return g.payload
	case g.common != nil:
		return g.common.Marshal(g.assignment)
	}
	return g.assignment.Marshal()
}

// envelope is the signed assignment, as agents get it.
func (g assignmentRecord) envelope() ([]byte, error) {
	return fleet.Envelope(g.signed(), fleet.AssignmentType, g.signatures...)
}

// packer makes what the store has of assignments, and reads it. The zero value is ready.
type packer struct{ writers, readers sync.Pool } // each is large, and there is an assignment for each target

// pack is what the store has of one.
func (p *packer) pack(g assignmentRecord) ([]byte, error) { return p.packText(g, g.signed()) }

// packText is pack of one whose text was made before.
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
		common, signed = fmt.Sprintf(`"common":%q,`, g.common.digest), g.assignment.Own().Marshal()
	}
	// It is stored as JSON. To have that made would look at all that was signed again.
	_, err = fmt.Fprintf(w, `{"fence":%d,%s"payload":%s,"signatures":%s}`, g.fence, common, signed, signatures)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

// unpack reads what pack made, and believes nothing yet.
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

// fullAssignment is what was signed, and what it has in common with others, if it does.
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

// parseAssignmentRecord reads one and believes nothing that no hub signed.
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
		s.Signatures[i].KeyID = fleet.Word(s.Signatures[i].KeyID)
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
		g.payload = text // another program wrote it
	}
	h.share(&g)
	return g, nil
}

// share keeps once what an assignment that was read has in common with others.
func (h *Hub) share(g *assignmentRecord) {
	a := &g.assignment
	if g.common == nil {
		a.Top, a.Modules = h.lists.one([]fleet.Assigned{a.Top})[0], h.lists.one(a.Modules)
	}
	a.Labels, a.Fleet, a.Format = h.labels.Labels(a.Labels), fleet.Word(a.Fleet), fleet.Word(a.Format)
}

// openAssignmentRecord gives the assignment of an entry of the store, which is most often known.
func (h *Hub) openAssignmentRecord(e fleet.Entry) (fleet.Assignment, error) {
	if g, rev, ok := h.assignments.get(e.Key); ok && rev == e.Rev {
		return g.assignment, nil
	}
	g, err := h.assignments.read(e)
	return g.assignment, err
}

// sign signs an assignment, and makes what the store is to have of it in the place of what
// is there now.
func (h *Hub) sign(fence uint64, a fleet.Assignment, c *common) (draft[assignmentRecord], error) {
	g := assignmentRecord{fence: fence, assignment: a, common: c}
	text := g.signed()
	signature, err := fleet.SignPayload(text, fleet.AssignmentType, h.keys.SigningKey())
	if err != nil {
		return draft[assignmentRecord]{}, err
	}
	signature.KeyID = fleet.Word(signature.KeyID)
	g.signatures = []fleet.Signature{signature}
	_, rev, _ := h.assignments.get(string(a.Target))
	packed, err := h.packer.packText(g, text)
	return draft[assignmentRecord]{string(a.Target), g, packed, rev}, err
}

// giveAll signs assignments and writes them, at once where that can be.
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

// give writes an assignment. A record of a higher fence stays, and is an error: this hub
// does not lead any more.
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

var errDeposed = errors.New("another hub leads by now")

// lists makes one of the lists of modules that are the same: targets that are configured
// alike share what they have. The zero value is ready.
type lists struct {
	mu   sync.Mutex
	seed maphash.Seed // of all
	all  map[uint64][]fleet.Assigned
}

// maxLists bounds how many are remembered; with more all are forgotten, which costs memory
// and nothing else.
const maxLists = 1000

// one gives the list that is the same as another one, which nobody may change from then on.
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
			_, _ = hash.WriteString(s) // it takes all
		}
	}
	key := hash.Sum64()
	if had := l.all[key]; had != nil && fleet.SameModules(had, list) {
		return had
	}
	l.all[key] = list
	return list
}
