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

// revocationFormat is the supported format.
const revocationFormat = "fettle.revocation/1"

// maxRevocation is the maximum size of a signed revocation, in bytes.
const maxRevocation = 4 << 10

// Revocation is the statement of a hub that a certificate, or all certificates of a name, are no
// longer trusted. It is permanent and never removed: a revoked target or user needs a new name.
type Revocation struct {
	Format string `json:"format"`
	// Exactly one of these is set: the serial of a certificate, in hex, or a name.
	Serial string `json:"serial,omitempty"`
	Name   string `json:"name,omitempty"`
	Fleet  string `json:"fleet"`
	At     int64  `json:"at"` // seconds since 1970
	By     string `json:"by"`
	Reason string `json:"reason,omitempty"` // for operators
}

func (r Revocation) check() error {
	if r.Format != revocationFormat {
		return fmt.Errorf("cannot read a revocation of the format %.40q: this version of fettle supports %s", r.Format,
			revocationFormat)
	}
	if (r.Serial == "") == (r.Name == "") {
		return errors.New("cannot use a revocation: it must have either a serial or a name")
	}
	if r.Serial != "" && !worded(r.Serial, 40, "0123456789abcdef", "") {
		return fmt.Errorf("cannot use %.60q as the serial of a certificate: a serial has up to 40 lower-case hex digits",
			r.Serial)
	}
	if r.Name == "" {
		return CheckFleet(r.Fleet)
	}
	n, err := ParseName(r.Name)
	if err == nil && n.Fleet != r.Fleet {
		err = fmt.Errorf("cannot use a revocation of the fleet %q for %s", r.Fleet, r.Name)
	}
	return err
}

// Key returns the key of the revocation in a store. Revocations of the same subject have the same
// key.
func (r Revocation) Key() string {
	if r.Serial != "" {
		return "revoked/serial/" + r.Serial
	}
	n, _ := ParseName(r.Name)
	return "revoked/" + string(n.Kind) + "/" + keyText(n.ID)
}

// keyText returns id, or an encoding of it if id has characters that are not allowed in keys of
// stores.
func keyText(id string) string {
	if err := fleet.CheckName(id); err == nil {
		return id
	}
	return "=" + lower.EncodeToString([]byte(id))
}

// Sign returns the signed envelope of the revocation.
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

// OpenRevocation verifies the signature of an envelope, and then decodes it.
func OpenRevocation(envelope []byte, keys fleet.Keys) (Revocation, error) {
	if len(envelope) > maxRevocation {
		return Revocation{}, fmt.Errorf("cannot read a revocation of %d bytes: the maximum is %d", len(envelope),
			maxRevocation)
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

// Revocations is a set of revocations that only grows. The order and the number of additions do not
// matter. The zero value is empty; its methods may be called from any goroutine.
type Revocations struct {
	mu   sync.RWMutex
	held map[string]held // by Revocation.Key
	// exact has the envelopes of held, so that a known envelope needs no verification.
	exact map[string]bool
}

type held struct {
	fact     Revocation
	envelope string
}

// Add adds a revocation that one of the keys signed. news is false if the subject was revoked
// before. A revocation stays in the set even if its signer is revoked later.
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

// before returns true if a stays and b is dropped, of two revocations of the same subject: the
// earlier one stays.
func before(a, b held) bool {
	return cmp.Or(cmp.Compare(a.fact.At, b.fact.At), cmp.Compare(a.envelope, b.envelope)) < 0
}

// Revoked returns true if a certificate is revoked, by its serial or its name. If a hub is revoked,
// all of its certificates are. The method can be used as Trust.Revoked.
func (s *Revocations) Revoked(serial string, n Name) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	keys := []string{Revocation{Serial: serial}.Key(), Revocation{Name: n.String()}.Key()}
	if n.Kind == IssuerKind || n.Kind == SignerKind || n.Kind == ServicesKind {
		keys = append(keys, Revocation{Name: Name{n.Fleet, HubKind, n.ID}.String()}.Key())
	}
	return slices.ContainsFunc(keys, func(k string) bool { _, is := s.held[k]; return is })
}

// Envelopes returns the signed revocations, sorted. Hubs and agents exchange them.
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

// OfHubs returns the Envelopes of revoked hubs, which agents must receive at once.
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

// Digest returns a digest of the set. Equal sets have equal digests.
func (s *Revocations) Digest() string {
	sum := sha256.New()
	for _, e := range s.Envelopes() {
		fmt.Fprintf(sum, "%d %s", len(e), e)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// has returns true if the set contains this envelope.
func (s *Revocations) has(envelope []byte) bool {
	if s == nil {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.exact[string(envelope)]
}

// All returns the revocations, sorted by Key.
func (s *Revocations) All() []Revocation {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var out []Revocation
	for _, h := range s.held {
		out = append(out, h.fact)
	}
	slices.SortFunc(out, func(a, b Revocation) int { return cmp.Compare(a.Key(), b.Key()) })
	return out
}
