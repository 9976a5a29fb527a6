package pki

import (
	"cmp"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/fleet"
)

// revocationFormat is the format that this program writes and reads.
const revocationFormat = "fettle.revocation/1"

// maxRevocation bounds one fact as it travels, in bytes.
const maxRevocation = 4 << 10

// Revocation says that a certificate, or all of a name, is not believed any more. It is
// for ever: facts only grow, and who comes back comes back under another name.
type Revocation struct {
	Format string `json:"format"`
	// One of these: the serial of one certificate, in hex, or a whole name.
	Serial string `json:"serial,omitempty"`
	Name   string `json:"name,omitempty"`
	Fleet  string `json:"fleet"`
	At     int64  `json:"at"` // seconds since 1970
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"` // for people
}

func (r Revocation) check() error {
	if r.Format != revocationFormat {
		return fmt.Errorf("cannot read a revocation of the format %.40q: this program knows %s", r.Format, revocationFormat)
	}
	if (r.Serial == "") == (r.Name == "") {
		return errors.New("cannot take a revocation of neither or both of serial and name")
	}
	if r.Serial != "" && !worded(r.Serial, 40, "0123456789abcdef", "") {
		return fmt.Errorf("cannot take %.60q for the serial of a certificate", r.Serial)
	}
	if r.Name == "" {
		return CheckFleet(r.Fleet)
	}
	n, err := ParseName(r.Name)
	if err == nil && n.Fleet != r.Fleet {
		err = fmt.Errorf("cannot take a revocation for the fleet %q of %s", r.Fleet, r.Name)
	}
	return err
}

// Key is where a store keeps the revocation: the same subject has the same key.
func (r Revocation) Key() string {
	if r.Serial != "" {
		return "revoked/serial/" + r.Serial
	}
	n, _ := ParseName(r.Name)
	return "revoked/" + string(n.Kind) + "/" + keyText(n.ID)
}

// keyText keeps to the characters that keys of stores may have.
func keyText(id string) string {
	if err := fleet.CheckName(id); err == nil {
		return id
	}
	return "=" + lower.EncodeToString([]byte(id))
}

// Sign makes the fact that travels.
func (r Revocation) Sign(key ed25519.PrivateKey) ([]byte, error) {
	r.Format = revocationFormat
	if err := r.check(); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("cannot write a revocation: %w", err)
	}
	return fleet.Sign(payload, fleet.FactType, key)
}

// OpenRevocation opens and reads one, in this order.
func OpenRevocation(envelope []byte, keys fleet.Keys) (Revocation, error) {
	if len(envelope) > maxRevocation {
		return Revocation{}, fmt.Errorf("cannot read a revocation of %d bytes: %d are the most", len(envelope), maxRevocation)
	}
	payload, err := fleet.Open(envelope, fleet.FactType, keys)
	if err != nil {
		return Revocation{}, err
	}
	var r Revocation
	if err := strictJSON(payload, &r); err != nil {
		return Revocation{}, fmt.Errorf("cannot read a revocation: %w", err)
	}
	return r, r.check()
}

// Revocations is a set of revocations that only grows. Taking the same ones in any order,
// any number of times, gives the same set. The zero value revokes nothing; its methods
// may be called from any goroutine.
type Revocations struct {
	mu   sync.RWMutex
	held map[string]held // by Revocation.Key
	// exact has the envelopes of held: to see one again costs no check of a signature.
	exact map[string]bool
}

type held struct {
	fact     Revocation
	envelope string
}

// Add takes a fact that one of the keys signed. news is false for what was known. What
// was taken once stays, also when its signer is revoked later.
func (s *Revocations) Add(envelope []byte, keys fleet.Keys) (news bool, err error) {
	r, err := OpenRevocation(envelope, keys)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held == nil {
		s.held, s.exact = map[string]held{}, map[string]bool{}
	}
	had, known := s.held[r.Key()]
	got := held{r, string(envelope)}
	if !known || before(got, had) {
		delete(s.exact, had.envelope)
		s.held[r.Key()], s.exact[got.envelope] = got, true
	}
	return !known, nil
}

// before decides which of two facts about the same stays: the earlier one.
func before(a, b held) bool {
	return cmp.Or(cmp.Compare(a.fact.At, b.fact.At), cmp.Compare(a.envelope, b.envelope)) < 0
}

// Revoked tells whether a certificate is revoked, by its serial or its name. With a hub
// all of its keys are. It fits Trust.Revoked.
func (s *Revocations) Revoked(serial string, n Name) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := []string{Revocation{Serial: serial}.Key(), Revocation{Name: n.String()}.Key()}
	if n.Kind == IssuerKind || n.Kind == SignerKind || n.Kind == ServicesKind {
		keys = append(keys, Revocation{Name: Name{n.Fleet, HubKind, n.ID}.String()}.Key())
	}
	return slices.ContainsFunc(keys, func(k string) bool { _, is := s.held[k]; return is })
}

// Envelopes are the facts as they were signed, sorted: what hubs and agents carry to each
// other.
func (s *Revocations) Envelopes() [][]byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out [][]byte
	for _, h := range s.held {
		out = append(out, []byte(h.envelope))
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// OfHubs are those of Envelopes that are about hubs: agents hear of these at once.
func (s *Revocations) OfHubs() [][]byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out [][]byte
	for _, h := range s.held {
		if n, err := ParseName(h.fact.Name); err == nil && n.Kind == HubKind {
			out = append(out, []byte(h.envelope))
		}
	}
	slices.SortFunc(out, slices.Compare)
	return out
}

// Digest names the set: those with the same facts have the same digest.
func (s *Revocations) Digest() string {
	sum := sha256.New()
	for _, e := range s.Envelopes() {
		fmt.Fprintf(sum, "%d %s", len(e), e)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// has tells whether a fact is in the set, byte for byte.
func (s *Revocations) has(envelope []byte) bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.exact[string(envelope)]
}

// Facts are what is revoked, sorted by what they are about.
func (s *Revocations) Facts() []Revocation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Revocation
	for _, h := range s.held {
		out = append(out, h.fact)
	}
	slices.SortFunc(out, func(a, b Revocation) int { return cmp.Compare(a.Key(), b.Key()) })
	return out
}
