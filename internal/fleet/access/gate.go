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

// Gate finds who asks. Fields are not to be changed while it is used; its methods may be
// called from any goroutine.
type Gate struct {
	Users Records
	// Last gives the last value of a key in the memory of this hub, for a store that does not
	// answer; nil gives none.
	// A user from that record may only read.
	Last func(key string) (value []byte, ok bool)
	// Trust judges certificates of people; nil takes none.
	Trust *pki.Trust
	// OIDC judges ID tokens; nil takes none.
	OIDC *Provider
	// Limit bounds failures by address; nil bounds none.
	Limit *pki.Limit
	Now   func() time.Time
}

// Records gives records of users and tokens by their keys, as a fleet.Store does.
type Records interface {
	Get(ctx context.Context, key string) (fleet.Entry, error)
}

// errProof is all that somebody learns whose proof is no good.
func errProof() error {
	return fmt.Errorf("cannot let you in: what you showed is not known here, has expired or was revoked. Ask an admin for another token: %w", fleet.ErrDenied)
}

type rootKey struct{}

// AsRoot marks what comes by the socket that only root can open: it is for
// http.Server.ConnContext of the server on that socket, and for nothing else.
func AsRoot(ctx context.Context) context.Context { return context.WithValue(ctx, rootKey{}, true) }

// Authenticate finds who asks. fleet.ErrDenied is in the chain of the error where they
// have not proved it; another error is the hub's.
func (g *Gate) Authenticate(r *http.Request) (Who, error) {
	if is, _ := r.Context().Value(rootKey{}).(bool); is {
		return root(), nil
	}
	who, err := g.prove(r)
	if err != nil {
		return Who{}, g.limited(r, err)
	}
	return who, nil
}

// limited counts a wrong proof of an address. After too many of them the answer no longer
// says why a proof is refused. A valid proof is never refused because of others.
func (g *Gate) limited(r *http.Request, err error) error {
	if g.Limit == nil || !shown(r) || !errors.Is(err, fleet.ErrDenied) {
		return err
	}
	from := addressOf(r)
	allowed := g.Limit.Allows(from, g.Now())
	g.Limit.Failed(from, g.Now())
	if allowed {
		return err
	}
	return fmt.Errorf("cannot let you in: too many attempts from this address have failed. Wait a minute: %w", fleet.ErrDenied)
}

// shown tells whether somebody tried: who shows nothing guesses nothing.
func shown(r *http.Request) bool { return len(r.Header.Values("Authorization")) > 0 }

func (g *Gate) prove(r *http.Request) (Who, error) {
	switch all := r.Header.Values("Authorization"); {
	case len(all) == 1:
		text, ok := strings.CutPrefix(all[0], "Bearer ")
		if !ok {
			return Who{}, errProof()
		}
		if strings.HasPrefix(text, bearerWord) {
			return g.bearer(r.Context(), text)
		}
		return g.idToken(r.Context(), text)
	case len(all) > 1:
		return Who{}, errProof()
	case r.TLS != nil && len(r.TLS.PeerCertificates) > 0 && g.Trust != nil:
		return g.certificate(r)
	}
	return Who{}, fmt.Errorf("cannot let you in without a token or a certificate: %w", fleet.ErrDenied)
}

func (g *Gate) bearer(ctx context.Context, text string) (Who, error) {
	id, secret, ok := parseBearer(text)
	if !ok {
		return Who{}, errProof()
	}
	b, is, err := load[Bearer](ctx, g, BearerKey(id))
	if err != nil {
		return Who{}, err
	}
	if is == absent || !b.good(secret, g.Now()) {
		return Who{}, errProof()
	}
	who, err := g.user(ctx, b.User, "token "+b.Prefix())
	who.rights, who.Until = both(who.rights, rightsOf(b.Roles)), time.Unix(b.Expires, 0)
	return who.knownAs(is), err
}

func (g *Gate) certificate(r *http.Request) (Who, error) {
	p, err := g.Trust.PeerOf(r.TLS, g.Now(), pki.UserKind)
	if err != nil {
		return Who{}, fmt.Errorf("cannot let you in: %w: %w", err, fleet.ErrDenied)
	}
	who, err := g.user(r.Context(), p.Name.ID, "certificate "+p.Serial)
	who.Until = p.Certificate.NotAfter
	return who, err
}

// user is somebody of the store, by what they proved.
func (g *Gate) user(ctx context.Context, name, how string) (Who, error) {
	p, is, err := load[User](ctx, g, UserKey(name))
	if err != nil {
		return Who{}, err
	}
	if is == absent || p.Locked || p.Name != name {
		return Who{}, errProof()
	}
	return Who{Name: name, How: how, rights: rightsOf(p.Roles)}.knownAs(is), nil
}

// idToken takes somebody for whom another says who they are. Their roles come from the
// claims; a person of the same name who is locked stays out.
func (g *Gate) idToken(ctx context.Context, text string) (Who, error) {
	if g.OIDC == nil {
		return Who{}, errProof()
	}
	who, err := g.OIDC.verify(ctx, text, g.Now())
	if err != nil {
		return Who{}, err
	}
	p, is, err := load[User](ctx, g, UserKey(who.Name))
	if err == nil && is != absent && p.Locked {
		err = errProof()
	}
	return who.knownAs(is), err
}

// addressOf is who is at the other end; the zero address where that cannot be told.
func addressOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}
