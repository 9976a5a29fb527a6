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

// MaxUses is how many hosts one token may let in.
const MaxUses = 1000

// Terms say whom a token lets in, and as what.
type Terms struct {
	Fleet  string            `json:"fleet,omitempty"` // the environment
	Labels map[string]string `json:"labels,omitempty"`
	// Names is a pattern that the name must match, with * ? and […]; "" takes any.
	Names string `json:"names,omitempty"`
	// Networks are those that may use it, as 192.0.2.0/24; none takes any.
	Networks []string `json:"networks,omitempty"`
	Uses     int      `json:"uses"`
	Expires  int64    `json:"expires"` // seconds since 1970
	// Note is for people.
	Note string `json:"note,omitempty"`
	// Approve leaves each target pending until somebody approves it.
	Approve bool `json:"approve,omitempty"`
	// Hub lets in a hub and no target.
	Hub bool `json:"hub,omitempty"`
}

// Check says what is wrong with terms.
func (t Terms) Check(now time.Time) error {
	if t.Fleet != "" {
		if err := CheckFleet(t.Fleet); err != nil {
			return err
		}
	}
	if _, err := path.Match(t.Names, ""); err != nil {
		return fmt.Errorf("cannot read %.80q as a pattern of names: it has * ? and […]", t.Names)
	}
	for _, n := range t.Networks {
		if _, err := netip.ParsePrefix(n); err != nil {
			return fmt.Errorf("cannot read %.60q as a network: it is as 192.0.2.0/24", n)
		}
	}
	if t.Uses < 1 || t.Uses > MaxUses {
		return fmt.Errorf("cannot make a token for %d uses: it has 1 to %d", t.Uses, MaxUses)
	}
	if t.Expires <= now.Unix() {
		return errors.New("cannot make a token that has expired: say when it does with --expires, as 1h")
	}
	if t.Hub && (t.Uses != 1 || t.Approve || len(t.Labels) > 0 || t.Fleet != "") {
		return errors.New("cannot make a token for a hub with labels, a fleet, approval or more than one use: a hub has none of these")
	}
	return fleet.CheckLabels(t.Labels)
}

// Spending is one use of a token.
type Spending struct {
	Key string `json:"key"` // digest of the public key that it let in
	At  int64  `json:"at"`  // seconds since 1970
}

// StoredToken is what hubs keep of a token, under its ID. There is no secret in it.
type StoredToken struct {
	Terms
	ID    string     `json:"id"`
	Hash  string     `json:"hash"`
	Made  int64      `json:"made"` // seconds since 1970
	By    string     `json:"by"`
	Spent []Spending `json:"spent,omitempty"`
	// Withdrawn is when somebody took it back, seconds since 1970.
	Withdrawn int64 `json:"withdrawn,omitempty"`
}

// NewToken makes a token of the terms. The first is to be shown once, the second stored.
func NewToken(terms Terms, authority [sha256.Size]byte, by string, now time.Time) (Token, StoredToken, error) {
	if err := terms.Check(now); err != nil {
		return Token{}, StoredToken{}, err
	}
	t := newToken(authority)
	return t, StoredToken{Terms: terms, ID: t.ID, Hash: t.Secret.hash(), Made: now.Unix(), By: by}, nil
}

// Refusal is an answer to whoever asks for what they may not have, or not now. It says
// what to do, and never what of a secret was wrong.
type Refusal struct {
	Status int // of HTTP
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(status int, format string, args ...any) *Refusal {
	return &Refusal{Status: status, Text: fmt.Sprintf(format, args...)}
}

// asking is one host at the door.
type asking struct {
	secret  Secret
	key     string // digest
	name    string
	address netip.Addr
}

func errUnknownToken() *Refusal {
	return refuse(unauthorized, "cannot enrol with this token: the hub does not know it. Make another with fettle token create")
}

// admit decides what a token is worth for somebody: it is to be spent by them, or was
// spent by that very key before, so that a lost answer costs no second use. Only who
// knows the secret learns more than that the token is no good.
func (s StoredToken) admit(a asking, now time.Time) (spend bool, err error) {
	if subtle.ConstantTimeCompare([]byte(a.secret.hash()), []byte(s.Hash)) != 1 || s.Withdrawn != 0 {
		return false, errUnknownToken()
	}
	if err := s.scope(a); err != nil {
		return false, err
	}
	if slices.ContainsFunc(s.Spent, func(p Spending) bool { return p.Key == a.key }) {
		return false, nil
	}
	if now.Unix() >= s.Expires {
		return false, refuse(forbidden, "cannot enrol with this token: it expired at %s. Make another with fettle token create", time.Unix(s.Expires, 0).UTC().Format(time.RFC3339))
	}
	if len(s.Spent) >= s.Uses {
		return false, refuse(forbidden, "cannot enrol with this token: all of its %d uses are spent. Make another with fettle token create", s.Uses)
	}
	return true, nil
}

func (s StoredToken) scope(a asking) error {
	if ok, err := path.Match(s.Names, a.name); s.Names != "" && (err != nil || !ok) {
		return refuse(forbidden, "cannot enrol %q with this token: it is for names like %s. Choose another name, or make another token", a.name, s.Names)
	}
	inside := func(n string) bool {
		p, err := netip.ParsePrefix(n)
		return err == nil && p.Masked().Contains(a.address.Unmap())
	}
	if len(s.Networks) > 0 && !slices.ContainsFunc(s.Networks, inside) {
		return refuse(forbidden, "cannot enrol from %s with this token: it is for other networks. Enrol from there, or make another token", a.address)
	}
	return nil
}

// use is the token after a key has spent one.
func (s StoredToken) use(key string, now time.Time) StoredToken {
	s.Spent = append(slices.Clone(s.Spent), Spending{Key: key, At: now.Unix()})
	return s
}
