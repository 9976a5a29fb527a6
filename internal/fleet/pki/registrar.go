package pki

import (
	"context"
	"crypto"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// DefaultGrace is the time after the expiry of a target's certificate during which the target may
// renew it without approval.
const DefaultGrace = 30 * 24 * time.Hour

// Registrar enrols targets, renews their certificates, and retires or revokes targets. Several
// registrars may use the same stores. Fields must not change during use; methods may be called from
// any goroutine.
type Registrar struct {
	Hub         *Hub
	Revocations *Revocations
	// Tokens has StoredToken by ID, Targets fleet.Target by ID, RevocationStore revocations by
	// Revocation.Key. Names has the owners of names, under "name/NAME", and the targets that were
	// offline for too long, under "away/ID"; it may be a store with other content.
	Tokens, Targets, RevocationStore, Names fleet.Store
	// Now is the hub's clock.
	Now func() time.Time
	// Signers returns the certificates of all hubs' signing keys, including this hub's; nil returns
	// only this hub's.
	Signers func(ctx context.Context) ([]*x509.Certificate, error)
	// HubURLs and BusURLs are the URLs of hubs for agents. Addresses returns them instead if it is set.
	HubURLs, BusURLs []string
	Addresses        func() (hubs, buses []string)
	// Grace is DefaultGrace when 0.
	Grace time.Duration
	// Audit is called for each certificate and each change of a standing before it takes effect, for
	// the audit log. If it returns an error, the operation is refused. nil records nothing.
	Audit func(ctx context.Context, n AuditRecord) error
	// Limit limits failures by address; nil means no limit.
	Limit *Limit

	renewals, tellings pace
}

// AuditRecord is a record for the audit log.
type AuditRecord struct {
	By        string // "token ID", "target ID", or the user who changed a standing
	Operation string // "enrol", "renew", "standing", "token", "revoke"
	Target    fleet.TargetID
	Text      string
}

// Enrolment is the request of a host to enrol.
type Enrolment struct {
	Format  string `json:"format"`
	Token   string `json:"token"`
	Request string `json:"request"` // PEM, see ParseRequest
	Name    string `json:"name"`
}

const (
	enrolmentFormat = "fettle.enrolment/1"
	answerFormat    = "fettle.identity/1"
)

// Answer has all data that a target needs to work with hubs, or Pending.
type Answer struct {
	Format string         `json:"format"`
	ID     fleet.TargetID `json:"id"`
	Name   string         `json:"name"`
	// Pending is a text that an operator must approve the target first. The client must ask again
	// later.
	Pending string `json:"pending,omitempty"`
	// Certificates is the target's certificate followed by its issuer's. Authorities and Signers
	// are the certificates that the target trusts. All are PEM.
	Certificates string   `json:"certificates,omitempty"`
	Authorities  string   `json:"authorities,omitempty"`
	Signers      string   `json:"signers,omitempty"`
	HubURLs      []string `json:"hubs,omitempty"`
	BusURLs      []string `json:"buses,omitempty"`
	Revocations  [][]byte `json:"revocations,omitempty"`
	// Known is Revocations.Digest of the hub. A target with more revocations sends them.
	Known string `json:"known,omitempty"`
	Now   int64  `json:"now"` // ns since 1970, the hub's clock
}

// Enrol enrols a host, or returns an Answer with Pending. A repeated call with the same key and
// token returns the same target, so a client can poll, and a lost answer costs nothing. An error of
// the client is a *Refusal.
func (r *Registrar) Enrol(ctx context.Context, e Enrolment, from netip.Addr) (Answer, error) {
	now := r.Now()
	token, err := ParseToken(e.Token)
	if err != nil {
		return Answer{}, refuse(unauthorized, "%v", err)
	}
	stored, err := r.token(ctx, token.ID)
	if err != nil {
		return Answer{}, err
	}
	// The secret is checked before any expensive step: clients without it learn nothing.
	if _, err := stored.value.admit(asking{secret: token.Secret, name: e.Name, address: from}, now); isUnknown(err) {
		return Answer{}, err
	}
	if stored.value.Hub {
		return Answer{}, refuse(forbidden, "cannot enrol with this token: it is for a hub. Make one with fettle token create")
	}
	public, a, err := readAsking(e, token, from)
	if err != nil {
		return Answer{}, err
	}
	id, err := TargetIDOf(public)
	if err != nil {
		return Answer{}, err
	}
	terms, err := r.spend(ctx, stored, a, id, now)
	if err != nil {
		return Answer{}, err
	}
	target, err := r.register(ctx, fleet.Target{
		ID: id, Name: a.name, Labels: terms.Labels, Fleet: terms.Fleet, Standing: first(terms), Key: a.key,
		Organization: terms.Organization, Token: token.ID, Enrolled: now.Unix(), Changed: now.Unix(), By: "token " + token.ID,
	}, now)
	if err != nil {
		return Answer{}, err
	}
	return r.answer(ctx, target, public, AuditRecord{By: "token " + token.ID, Operation: "enrol", Target: id})
}

func isUnknown(err error) bool {
	refusal, ok := errors.AsType[*Refusal](err)
	return ok && refusal.Status == unauthorized
}

// first returns the initial standing of a target.
func first(t Terms) fleet.Standing {
	if t.Approve {
		return fleet.Pending
	}
	return fleet.Active
}

func readAsking(e Enrolment, token Token, from netip.Addr) (crypto.PublicKey, asking, error) {
	if err := fleet.CheckName(e.Name); err != nil {
		return nil, asking{}, refuse(malformed, "%v", err)
	}
	public, err := ParseRequest([]byte(e.Request))
	if err != nil {
		return nil, asking{}, refuse(malformed, "%v", err)
	}
	key, err := KeyDigest(public)
	return public, asking{secret: token.Secret, key: key, name: e.Name, address: from}, err
}

// entry is a value of a store with its revision.
type entry[T any] struct {
	value T
	rev   uint64
}

// load reads an entry; rev is 0 if it does not exist.
func load[T any](ctx context.Context, s fleet.Store, key string) (entry[T], error) {
	e, err := s.Get(ctx, key)
	if errors.Is(err, fleet.ErrNotFound) {
		return entry[T]{}, nil
	}
	if err != nil {
		return entry[T]{}, fmt.Errorf("cannot read %s of the fleet's store: %w", key, err)
	}
	var v T
	if err := json.Unmarshal(e.Value, &v); err != nil {
		return entry[T]{}, fmt.Errorf("cannot read %s of the fleet's store: it is damaged: %w", key, err)
	}
	return entry[T]{v, e.Rev}, nil
}

// store writes an entry if it still has the revision. Otherwise fleet.ErrConflict is in the chain
// of the error.
func store[T any](ctx context.Context, s fleet.Store, key string, v T, rev uint64) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = s.Update(ctx, key, b, rev)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s of the fleet's store: %w", key, err)
	}
	return nil
}

func (r *Registrar) token(ctx context.Context, id string) (entry[StoredToken], error) {
	t, err := load[StoredToken](ctx, r.Tokens, id)
	if err == nil && t.rev == 0 {
		err = errUnknownToken()
	}
	return t, err
}

// spend records a use of a token by a key, unless the key has used it already. Each conflict is a
// use by another key, so the number of retries is limited.
func (r *Registrar) spend(ctx context.Context, t entry[StoredToken], a asking, id fleet.TargetID,
	now time.Time) (Terms, error) {
	for {
		spend, err := t.value.admit(a, now)
		if err != nil || !spend {
			return t.value.Terms, err
		}
		known, err := load[fleet.Target](ctx, r.Targets, string(id))
		if err != nil {
			return Terms{}, err
		}
		if known.rev != 0 {
			return Terms{}, refuse(conflict,
				"cannot enrol with this key: it belongs to a target already. Create a new key: fettle agent enrol --again")
		}
		// A name that is in use must not cost a use of the token.
		if err := r.reserve(ctx, a.name, id, now); err != nil {
			return Terms{}, err
		}
		err = store(ctx, r.Tokens, t.value.ID, t.value.use(a.key, now), t.rev)
		if err == nil {
			return t.value.Terms, nil
		}
		if !errors.Is(err, fleet.ErrConflict) {
			return Terms{}, err
		}
		if t, err = r.token(ctx, t.value.ID); err != nil {
			return Terms{}, err
		}
	}
}
