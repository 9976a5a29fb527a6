package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// Gate authenticates requests. Its fields must not change while it is used; its methods are safe
// for concurrent use.
type Gate struct {
	Users Records
	// Last returns the last value of a key in the memory of this hub. It is used while the store
	// does not answer, and the user then has only the right read. It may be nil.
	Last func(key string) (value []byte, ok bool)
	// Trust verifies certificates of users; nil means that none are accepted.
	Trust *pki.Trust
	// OIDC verifies ID tokens; nil means that none are accepted.
	OIDC *Provider
	// Limit limits failures by address; nil means no limit.
	Limit *pki.Limit
	Now   func() time.Time
}

// Records reads records of users and tokens by key. A fleet.Store implements it.
type Records interface {
	Get(ctx context.Context, key string) (fleet.Entry, error)
}

// errCredential is the error for every invalid credential. It does not reveal the reason.
func errCredential() error {
	return fmt.Errorf(
		"cannot authenticate: the credentials are invalid, have expired or were revoked. Ask an admin for a new token: %w",
		fleet.ErrDenied)
}

type rootKey struct{}

// AsRoot marks requests on the socket that only root can open. Use it only in
// http.Server.ConnContext of the server on that socket.
func AsRoot(ctx context.Context) context.Context { return context.WithValue(ctx, rootKey{}, true) }

// Authenticate returns the user of a request. Without valid credentials, the error wraps
// fleet.ErrDenied; another error is a failure of the hub.
func (g *Gate) Authenticate(r *http.Request) (Principal, error) {
	if is, _ := r.Context().Value(rootKey{}).(bool); is {
		return root(), nil
	}
	who, err := g.prove(r)
	if err != nil {
		return Principal{}, g.limited(r, err)
	}
	return who, nil
}

// limited counts failed attempts of an address. After too many, the error no longer states why a
// credential was refused. A valid credential is never refused because of other attempts.
func (g *Gate) limited(r *http.Request, err error) error {
	if !shown(r) || !errors.Is(err, fleet.ErrDenied) {
		return err
	}
	if g.CountFailure(r) {
		return err
	}
	return fmt.Errorf("cannot authenticate: too many attempts from this address have failed. Wait a minute: %w",
		fleet.ErrDenied)
}

// CountFailure counts a failed attempt of the address of a request. It returns false if there were too many before.
func (g *Gate) CountFailure(r *http.Request) (allowed bool) {
	if g.Limit == nil {
		return true
	}
	from := addressOf(r)
	allowed = g.Limit.Allows(from, g.Now())
	g.Limit.Failed(from, g.Now())
	return allowed
}

// shown reports whether a request contains a token: without one, it is not an attempt to guess.
func shown(r *http.Request) bool { return len(r.Header.Values("Authorization")) > 0 }

func (g *Gate) prove(r *http.Request) (Principal, error) {
	switch all := r.Header.Values("Authorization"); len(all) {
	case 0:
		return g.certificate(r)
	case 1:
		return g.token(r.Context(), all[0])
	}
	return Principal{}, errCredential()
}

// token authenticates with the value of an Authorization header.
func (g *Gate) token(ctx context.Context, header string) (Principal, error) {
	text, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return Principal{}, errCredential()
	}
	if strings.HasPrefix(text, bearerWord) {
		return g.bearer(ctx, text)
	}
	return g.idToken(ctx, text)
}

func (g *Gate) bearer(ctx context.Context, text string) (Principal, error) {
	id, secret, ok := parseSecret(bearerWord, text)
	if !ok {
		return Principal{}, errCredential()
	}
	b, is, err := load[Bearer](ctx, g, BearerKey(id))
	if err != nil {
		return Principal{}, err
	}
	if is == absent || !b.matches(secret, g.Now()) {
		return Principal{}, errCredential()
	}
	if b.Of != "" {
		of, has, err := load[Bearer](ctx, g, BearerKey(b.Of))
		if err != nil {
			return Principal{}, err
		}
		if has == absent || !of.valid(g.Now()) {
			return Principal{}, errCredential()
		}
		is = max(is, has)
	}
	if b.Issuer != "" {
		return g.providerSession(ctx, b, is)
	}
	who, err := g.user(ctx, b.User, "token "+b.Prefix())
	if err == nil && (who.Organization != b.Organization || who.moves != b.Moves) {
		return Principal{}, errCredential()
	}
	who.rights, who.Expires = both(who.rights, rightsOf(b.Roles)), time.Unix(b.Expires, 0)
	who.grants = limited(who.grants, rightsOf(b.Roles))
	who.Login, who.Session = b.ID, b.Session
	return who.knownAs(is), err
}

func (g *Gate) certificate(r *http.Request) (Principal, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || g.Trust == nil {
		return Principal{}, fmt.Errorf("cannot authenticate without a token or a certificate: %w", fleet.ErrDenied)
	}
	p, err := g.Trust.PeerOf(r.TLS, g.Now(), pki.UserKind)
	if err != nil {
		return Principal{}, fmt.Errorf("cannot authenticate: %w: %w", err, fleet.ErrDenied)
	}
	who, err := g.user(r.Context(), p.Name.ID, "certificate "+p.Serial)
	who.Expires = p.Certificate.NotAfter
	return who, err
}

// user returns a user of the store who has authenticated.
func (g *Gate) user(ctx context.Context, name, how string) (Principal, error) {
	p, is, err := load[User](ctx, g, UserKey(name))
	if err != nil {
		return Principal{}, err
	}
	if is == absent || p.Locked || p.Name != name {
		return Principal{}, errCredential()
	}
	return Principal{Name: name, Credential: how, Organization: p.Organization,
		rights: rightsOf(p.Roles), grants: rightsOfGrants(p.Grants), groups: p.Groups, moves: p.Moves}.knownAs(is), nil
}

// idToken authenticates a user of the OIDC provider. The roles come from the claims, and the groups and grants from the
// user of the same name in the store, if there is one. Such a user is refused if it is locked.
func (g *Gate) idToken(ctx context.Context, text string) (Principal, error) {
	if g.OIDC == nil {
		return Principal{}, errCredential()
	}
	c, err := g.OIDC.verify(ctx, text, g.Now())
	if err != nil {
		return Principal{}, err
	}
	who, err := g.OIDC.user(c)
	if err != nil {
		return Principal{}, err
	}
	return g.ofProvider(ctx, who)
}

// ofProvider adds what the store has about a user of the provider. An organization in the store limits that of the
// rules; if neither contains the other, the user is refused.
func (g *Gate) ofProvider(ctx context.Context, who Principal) (Principal, error) {
	p, is, err := load[User](ctx, g, UserKey(who.Name))
	if err != nil {
		return Principal{}, err
	}
	if p.Locked {
		return Principal{}, errCredential()
	}
	common, ok := who.Organization.Common(p.Organization)
	if !ok {
		return Principal{}, errCredential()
	}
	who.groups, who.Organization, who.moves = p.Groups, common, p.Moves
	who.grants = rightsOfGrants(p.Grants)
	return who.knownAs(is), nil
}

// providerSession returns the user of a session that the provider authenticated. Without this provider, the session is
// over.
func (g *Gate) providerSession(ctx context.Context, b Bearer, is known) (Principal, error) {
	if g.OIDC == nil || g.OIDC.Issuer != b.Issuer {
		return Principal{}, errCredential()
	}
	who, err := g.ofProvider(ctx, Principal{Name: b.User, Credential: "token " + b.Prefix(), rights: rightsOf(b.Roles),
		Expires: time.Unix(b.Expires, 0), Login: b.ID, Session: b.Session, Organization: b.Organization})
	if err == nil && who.moves != b.Moves {
		return Principal{}, errCredential()
	}
	return who.knownAs(is), err
}

// addressOf returns the address of the client, or the zero address if it is unknown.
func addressOf(r *http.Request) netip.Addr {
	ap, _ := netip.ParseAddrPort(r.RemoteAddr) // the zero value with an error
	return ap.Addr().Unmap().WithZone("")
}
