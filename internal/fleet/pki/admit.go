package pki

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// MaxUses is the maximum number of hosts that can enrol with one token.
const MaxUses = 1000

// Terms restrict which hosts can enrol with a token, and define their labels.
type Terms struct {
	Fleet string `json:"fleet,omitempty"` // the environment
	// Organization is the organization of the targets.
	Organization fleet.Organization `json:"organization,omitempty"`
	Labels       map[string]string  `json:"labels,omitempty"`
	// Names is a pattern that the name of a host must match, with * ? and […]; "" permits all
	// names.
	Names string `json:"names,omitempty"`
	// Networks are the networks that may use the token, for example 192.0.2.0/24; none permits all.
	Networks []string `json:"networks,omitempty"`
	Uses     int      `json:"uses"`
	Expires  int64    `json:"expires"` // seconds since 1970
	// Note is a comment for operators.
	Note string `json:"note,omitempty"`
	// Approve leaves each target pending until an operator approves it.
	Approve bool `json:"approve,omitempty"`
	// Hub makes this a token for a hub that joins the fleet, not for targets.
	Hub bool `json:"hub,omitempty"`
}

// Check returns an error if the terms are invalid.
func (t Terms) Check(now time.Time) error {
	if t.Fleet != "" {
		if err := CheckFleet(t.Fleet); err != nil {
			return err
		}
	}
	if _, err := path.Match(t.Names, ""); err != nil {
		return fmt.Errorf("cannot read %.80q as a pattern of names: use * ? and […]", t.Names)
	}
	for _, n := range t.Networks {
		if _, err := netip.ParsePrefix(n); err != nil {
			return fmt.Errorf("cannot read %.60q as a network: write it like 192.0.2.0/24", n)
		}
	}
	if t.Uses < 1 || t.Uses > MaxUses {
		return fmt.Errorf("cannot create a token for %d uses: a token has 1 to %d", t.Uses, MaxUses)
	}
	if t.Expires <= now.Unix() {
		return errors.New("cannot create a token that has expired already: set its lifetime, for example --expires 1h")
	}
	ofTargets := t.Approve || len(t.Labels) > 0 || t.Fleet != "" || t.Organization != ""
	if t.Hub && (t.Uses != 1 || ofTargets) {
		return errors.New("cannot create a token for a hub with labels, a fleet, an organization, approval or more than " +
			"one use: these are only for targets")
	}
	return errors.Join(t.Organization.Check(), fleet.CheckLabels(t.Labels))
}

// TokenUse is one use of a token.
type TokenUse struct {
	Key string `json:"key"` // digest of the public key that enrolled
	At  int64  `json:"at"`  // seconds since 1970
}

// StoredToken is the record of a token in the hubs' store, by its ID. It contains no secret.
type StoredToken struct {
	Terms
	ID        string     `json:"id"`
	Hash      string     `json:"hash"`
	Created   int64      `json:"made"` // seconds since 1970
	By        string     `json:"by"`
	TokenUses []TokenUse `json:"spent,omitempty"`
	// Withdrawn is the time when the token was withdrawn, in seconds since 1970; 0 means that it is
	// valid.
	Withdrawn int64 `json:"withdrawn,omitempty"`
}

// NewToken creates a token. The caller shows the Token once, and stores the StoredToken.
func NewToken(terms Terms, authority [sha256.Size]byte, by string, now time.Time) (Token, StoredToken, error) {
	if err := terms.Check(now); err != nil {
		return Token{}, StoredToken{}, err
	}
	t := newToken(authority)
	return t, StoredToken{Terms: terms, ID: t.ID, Hash: t.Secret.hash(), Created: now.Unix(), By: by}, nil
}

// Refusal is an error for the client: the request is not permitted, or not now. Its text contains
// the next step. It never reveals which part of a secret was wrong.
type Refusal struct {
	Status int // HTTP status
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

// asking is the request of one host to enrol.
type asking struct {
	secret  Secret
	key     string // digest of the public key
	name    string
	address netip.Addr
}

func errUnknownToken() *Refusal {
	return refuse(unauthorized,
		"cannot enrol with this token: the hub does not know it. Make another with fettle token create")
}

// admit decides whether a host may enrol. spend is true if the token must record a use. A key that
// has already used the token does not use it again, so that a lost answer costs nothing. Only
// clients with the secret learn more than that the token is invalid.
func (s StoredToken) admit(a asking, now time.Time) (spend bool, err error) {
	if subtle.ConstantTimeCompare([]byte(a.secret.hash()), []byte(s.Hash)) != 1 || s.Withdrawn != 0 {
		return false, errUnknownToken()
	}
	if err := s.scope(a); err != nil {
		return false, err
	}
	if slices.ContainsFunc(s.TokenUses, func(p TokenUse) bool { return p.Key == a.key }) {
		return false, nil
	}
	if now.Unix() >= s.Expires {
		return false, refuse(forbidden,
			"cannot enrol with this token: it expired at %s. Make another with fettle token create",
			time.Unix(s.Expires, 0).UTC().Format(time.RFC3339))
	}
	if len(s.TokenUses) >= s.Uses {
		return false, refuse(forbidden,
			"cannot enrol with this token: all of its %d uses are spent. Make another with fettle token create", s.Uses)
	}
	return true, nil
}

func (s StoredToken) scope(a asking) error {
	if ok, err := path.Match(s.Names, a.name); s.Names != "" && (err != nil || !ok) {
		return refuse(forbidden,
			"cannot enrol %q with this token: it is for names like %s. Choose another name, or make another token", a.name,
			s.Names)
	}
	inside := func(n string) bool {
		p, err := netip.ParsePrefix(n)
		return err == nil && p.Masked().Contains(a.address.Unmap())
	}
	if len(s.Networks) > 0 && !slices.ContainsFunc(s.Networks, inside) {
		return refuse(forbidden,
			"cannot enrol from %s with this token: it is for other networks. Enrol from there, or make another token", a.address)
	}
	return nil
}

// use returns the token with one more recorded use.
func (s StoredToken) use(key string, now time.Time) StoredToken {
	s.TokenUses = append(slices.Clone(s.TokenUses), TokenUse{Key: key, At: now.Unix()})
	return s
}
