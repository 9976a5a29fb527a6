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

// DefaultGrace is for how long after its end the certificate of a target may still be
// renewed without anybody's approval.
const DefaultGrace = 30 * 24 * time.Hour

// Registrar lets targets in, keeps their certificates alive, and puts them out. Any
// number of them may work on the same stores. Fields are not to be changed while it is
// used; its methods may be called from any goroutine.
type Registrar struct {
	Hub         *Hub
	Revocations *Revocations
	// Tokens has StoredToken by ID, Targets fleet.Target by ID, Facts revocations by
	// Revocation.Key. Names has who holds a name, under "name/NAME", and who was away for
	// too long, under "away/ID": it may be a store that has other things too.
	Tokens, Targets, Facts, Names fleet.Store
	// Now is the hub's clock.
	Now func() time.Time
	// Signers gives the certificates of all hubs' signing keys, the own one among them;
	// nil gives only that.
	Signers func(ctx context.Context) ([]*x509.Certificate, error)
	// Hubs and Buses are the URLs that agents reach hubs by; Reach gives them in their
	// place where it is set.
	Hubs, Buses []string
	Addresses   func() (hubs, buses []string)
	// Grace is DefaultGrace when 0.
	Grace time.Duration
	// Note is told of each certificate and of each change of a standing before it takes
	// effect, for the audit log. Its error refuses it; nil notes nothing.
	Note func(ctx context.Context, n Noted) error
	// Limit bounds failures by address; nil bounds none.
	Limit *Limit

	renewals, tellings pace
}

// Noted is one thing for the audit log.
type Noted struct {
	By     string // "token ID", "target ID", or who changed a standing
	What   string // "enrol", "renew", "standing", "token", "revoke"
	Target fleet.TargetID
	Text   string
}

// Enrolment is what a host asks with.
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

// Answer is what a target gets: all that it needs to work with hubs, or Pending.
type Answer struct {
	Format string         `json:"format"`
	ID     fleet.TargetID `json:"id"`
	Name   string         `json:"name"`
	// Pending says that somebody has to approve it first: ask again later.
	Pending string `json:"pending,omitempty"`
	// Certificates is the target's with its issuer's behind it, Authorities and Signers
	// are what it believes. All PEM.
	Certificates string   `json:"certificates,omitempty"`
	Authorities  string   `json:"authorities,omitempty"`
	Signers      string   `json:"signers,omitempty"`
	Hubs         []string `json:"hubs,omitempty"`
	Buses        []string `json:"buses,omitempty"`
	Revocations  [][]byte `json:"revocations,omitempty"`
	// Known is Revocations.Digest of the hub: a target that knows more tells it.
	Known string `json:"known,omitempty"`
	Now   int64  `json:"now"` // ns since 1970, the hub's clock
}

// Enrol lets a host in, or tells what it is waiting for. To ask again with the same key
// and token is the way to poll, and gives the same target: a lost answer costs nothing.
// The error is a *Refusal where it is theirs.
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
	// The secret comes before anything that costs: who does not know it learns nothing.
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
		Token: token.ID, Enrolled: now.Unix(), Changed: now.Unix(), By: "token " + token.ID,
	}, now)
	if err != nil {
		return Answer{}, err
	}
	return r.answer(ctx, target, public, Noted{By: "token " + token.ID, What: "enrol", Target: id})
}

func isUnknown(err error) bool {
	refusal, ok := errors.AsType[*Refusal](err)
	return ok && refusal.Status == unauthorized
}

// first is the standing that a target begins with.
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

// load reads an entry; rev is 0 for what is not there.
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

// store writes an entry over the revision that was read: fleet.ErrConflict is in the
// chain of the error when somebody was faster.
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

// spend takes one use of a token for a key, unless that key has one already. Each
// conflict is a use of somebody else's, so it comes to an end.
func (r *Registrar) spend(ctx context.Context, t entry[StoredToken], a asking, id fleet.TargetID, now time.Time) (Terms, error) {
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
			return Terms{}, refuse(conflict, "cannot enrol with this key: it is a target already. Make a new one with fettle agent enrol --again")
		}
		// A name that is taken must not cost a use.
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
