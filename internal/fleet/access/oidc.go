package access

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// How long keys of a provider are believed, and how long it is left alone after it was
// asked: whoever sends tokens with new key names does not make a hub hammer it.
const (
	keysFor  = time.Hour
	keysRest = time.Minute
)

// maxKeys bounds what is read of a provider, in bytes.
const maxKeys = 256 << 10

// Rule gives a role to who has a claim.
type Rule struct {
	Claim string // "groups"
	Value string // exactly; where the claim is a list, one of it
	Role  Role
}

// Provider is an OIDC issuer whose ID tokens are believed. Fields are not to be changed
// while it is used; it may be used from any goroutine.
type Provider struct {
	Issuer string // https URL, exactly as the tokens have it
	Client string // the audience: what the provider knows the hub by
	// NameClaim is the claim that names people; "" is email, which counts only where the
	// provider has verified it.
	NameClaim string
	Rules     []Rule
	// HTTP asks the provider; it bounds time and follows what it likes. nil is a client
	// with a limit of 10 seconds.
	HTTP *http.Client

	mu    sync.Mutex
	keys  map[string]crypto.PublicKey
	got   time.Time // when keys came
	asked time.Time // when somebody last tried
}

// Check says what is wrong with the settings of a provider.
func (p *Provider) Check() error {
	if !strings.HasPrefix(p.Issuer, "https://") || p.Client == "" {
		return fmt.Errorf("cannot use the OIDC provider %.80q: it is an https URL, with the name that it knows this hub by", p.Issuer)
	}
	for _, r := range p.Rules {
		if r.Claim == "" || r.Value == "" {
			return fmt.Errorf("cannot use a rule of the OIDC provider %s without claim or value", p.Issuer)
		}
		if err := CheckRoles([]Role{r.Role}); err != nil {
			return err
		}
	}
	return nil
}

// verify believes an ID token or not.
func (p *Provider) verify(ctx context.Context, text string, now time.Time) (Who, error) {
	t, err := parseJWT(text)
	if err != nil || !t.claims.holds(p.Issuer, p.Client, now) {
		return Who{}, errProof()
	}
	key, err := p.key(ctx, t.kid, now)
	if err != nil {
		return Who{}, err
	}
	if key == nil || !t.signedBy(key) {
		return Who{}, errProof()
	}
	name := p.name(t.claims.all)
	if pki.CheckUser(name) != nil {
		return Who{}, errProof()
	}
	roles := p.roles(t.claims.all)
	if len(roles) == 0 {
		return Who{}, fmt.Errorf("cannot let %s in: no rule of this hub gives a role to them. Ask an admin: %w", name, fleet.ErrDenied)
	}
	return Who{Name: name, How: "oidc " + p.Issuer, Until: t.claims.Expires.time().Add(leeway), rights: rightsOf(roles)}, nil
}

func (p *Provider) name(all map[string]any) string {
	claim := p.NameClaim
	if claim == "" {
		if verified, _ := all["email_verified"].(bool); !verified {
			return ""
		}
		claim = "email"
	}
	name, _ := all[claim].(string)
	return name
}

func (p *Provider) roles(all map[string]any) []Role {
	var out []Role
	for _, r := range p.Rules {
		switch v := all[r.Claim].(type) {
		case string:
			if v == r.Value {
				out = append(out, r.Role)
			}
		case []any:
			if slices.Contains(v, any(r.Value)) {
				out = append(out, r.Role)
			}
		}
	}
	return out
}

// key is a key of the provider by its name, nil where it has none such. The provider is
// asked for keys that are old or not known, though not often; while it does not answer,
// those that it had stay good.
func (p *Provider) key(ctx context.Context, kid string, now time.Time) (crypto.PublicKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.keys[kid]
	fresh := k != nil && now.Sub(p.got) < keysFor
	if fresh || !p.asked.IsZero() && now.Sub(p.asked) < keysRest {
		return k, nil
	}
	p.asked = now
	keys, err := p.fetch(ctx)
	if err != nil {
		if k != nil {
			return k, nil
		}
		return nil, fmt.Errorf("cannot ask the OIDC provider %s for its keys: %w", p.Issuer, err)
	}
	p.keys, p.got = keys, now
	return p.keys[kid], nil
}

func (p *Provider) fetch(ctx context.Context) (map[string]crypto.PublicKey, error) {
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := p.get(ctx, strings.TrimSuffix(p.Issuer, "/")+"/.well-known/openid-configuration", &about); err != nil {
		return nil, err
	}
	if about.Issuer != p.Issuer || !strings.HasPrefix(about.Keys, "https://") {
		return nil, errors.New("what it says of itself does not agree with its address")
	}
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := p.get(ctx, about.Keys, &set); err != nil {
		return nil, err
	}
	out := map[string]crypto.PublicKey{}
	for _, j := range set.Keys {
		if k := j.key(); k != nil {
			out[j.ID] = k
		}
	}
	if len(out) == 0 {
		return nil, errors.New("it has no key for RS256 or ES256")
	}
	return out, nil
}

func (p *Provider) get(ctx context.Context, url string, into any) error {
	client := p.HTTP
	if client == nil {
		client = &http.Client{Timeout: 10 * time.Second}
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r, err := client.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, r.Status)
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, maxKeys+1))
	if err == nil && len(b) > maxKeys {
		err = fmt.Errorf("%s answers more than %d bytes", url, maxKeys)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
