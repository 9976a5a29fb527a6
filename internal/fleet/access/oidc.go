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

	"golang.org/x/oauth2"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
)

// keysFor is the validity of cached keys of a provider. keysRest is the shortest time between two
// requests for keys, so that tokens with unknown key IDs do not cause many requests.
const (
	keysFor  = time.Hour
	keysRest = time.Minute
)

// maxKeys limits an answer of a provider, in bytes.
const maxKeys = 256 << 10

// Rule gives a role to users with a claim.
type Rule struct {
	Claim string // such as "groups"
	Value string // the exact value, or an element if the claim is a list
	Role  Role
	// Organization limits these users to an organization; "" means the whole fleet.
	Organization fleet.Organization
}

// Provider is an OIDC issuer whose ID tokens are accepted. Its fields must not change while it is
// used; it is safe for concurrent use.
type Provider struct {
	Issuer string // https URL, equal to the issuer in the tokens
	Client string // the audience: the name of the hub at the provider
	// NameClaim is the claim with the name of the user; "" means email, which the provider must
	// have verified.
	NameClaim string
	Rules     []Rule
	// Secret is the secret of the hub at the provider; "" means a public client. Only SignIn uses it.
	Secret string
	// Scopes are requested in addition to openid, email and profile. Many providers refuse scopes that they do not know.
	Scopes []string
	// HTTP is the client for requests to the provider. nil means a client with a time limit of 10
	// seconds.
	HTTP *http.Client

	mu        sync.Mutex
	keys      map[string]crypto.PublicKey
	endpoints oauth2.Endpoint
	got       time.Time // time of the last answer
	asked     time.Time // time of the last request
}

// Check returns an error for invalid settings.
func (p *Provider) Check() error {
	if !strings.HasPrefix(p.Issuer, "https://") || p.Client == "" {
		return fmt.Errorf(
			"cannot use the OIDC provider %.80q: give an https URL, and the client ID of this hub at the provider", p.Issuer)
	}
	for _, r := range p.Rules {
		if r.Claim == "" || r.Value == "" {
			return fmt.Errorf("cannot use a rule of the OIDC provider %s without claim or value", p.Issuer)
		}
		if err := errors.Join(CheckRoles([]Role{r.Role}), r.Organization.Check()); err != nil {
			return err
		}
	}
	return nil
}

// verify returns the claims of a valid ID token.
func (p *Provider) verify(ctx context.Context, text string, now time.Time) (claims, error) {
	t := parseJWT(text)
	if t == nil || !t.claims.holds(p.Issuer, p.Client, now) {
		return claims{}, errCredential()
	}
	key, err := p.key(ctx, t.kid, now)
	if err != nil {
		return claims{}, err
	}
	if !t.signedBy(key) {
		return claims{}, errCredential()
	}
	return t.claims, nil
}

// user returns the user with verified claims.
func (p *Provider) user(c claims) (Principal, error) {
	name := p.name(c.all)
	if pki.CheckUser(name) != nil {
		return Principal{}, errCredential()
	}
	roles, of, err := p.roles(c.all)
	if err != nil {
		return Principal{}, fmt.Errorf("cannot authenticate %s: %w: %w", name, err, fleet.ErrDenied)
	}
	if len(roles) == 0 {
		return Principal{}, fmt.Errorf(
			"cannot authenticate %s: no rule of this hub gives this user a role. Ask an admin: %w", name,
			fleet.ErrDenied)
	}
	return Principal{Name: name, Credential: "oidc " + p.Issuer, Expires: c.Expires.time().Add(leeway),
		Organization: of, rights: rightsOf(roles)}, nil
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

// errOrganizations never names an organization.
var errOrganizations = errors.New("the rules of this hub give the user roles in several organizations. Ask an admin")

// roles returns the roles that the rules give, and their organization. Rules for several organizations are an error,
// because a role in one must not count in another.
func (p *Provider) roles(all map[string]any) (out []Role, of fleet.Organization, err error) {
	for _, r := range p.Rules {
		if !r.matches(all) {
			continue
		}
		if len(out) > 0 && r.Organization != of {
			return nil, "", errOrganizations
		}
		out, of = append(out, r.Role), r.Organization
	}
	return out, of, nil
}

// matches reports whether the claims of a user have the value of a rule.
func (r Rule) matches(all map[string]any) bool {
	switch v := all[r.Claim].(type) {
	case string:
		return v == r.Value
	case []any:
		return slices.Contains(v, any(r.Value))
	}
	return false
}

// key returns the key with an ID, or nil. It asks the provider if the key is unknown or old, but
// not too often. While the provider does not answer, old keys remain valid.
func (p *Provider) key(ctx context.Context, kid string, now time.Time) (crypto.PublicKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := p.refresh(ctx, now, p.keys[kid] != nil)
	return p.keys[kid], err
}

// refresh asks the provider for its keys and endpoints, if they are old or the wanted one is not known.
func (p *Provider) refresh(ctx context.Context, now time.Time, known bool) error {
	if known && now.Sub(p.got) < keysFor || now.Sub(p.asked) < keysRest {
		return nil
	}
	p.asked = now
	keys, endpoints, err := p.fetch(ctx)
	switch {
	case err == nil:
		p.keys, p.endpoints, p.got = keys, endpoints, now
	case !known:
		return fmt.Errorf("cannot ask the OIDC provider %s for its keys: %w", p.Issuer, err)
	}
	return nil
}

// fetch returns the keys and endpoints of the provider (OpenID Connect Discovery 1.0).
func (p *Provider) fetch(ctx context.Context) (map[string]crypto.PublicKey, oauth2.Endpoint, error) {
	var about struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
		Auth   string `json:"authorization_endpoint"`
		Token  string `json:"token_endpoint"`
	}
	err := p.get(ctx, strings.TrimSuffix(p.Issuer, "/")+"/.well-known/openid-configuration", &about)
	if err == nil && (about.Issuer != p.Issuer || !strings.HasPrefix(about.Keys, "https://")) {
		err = errors.New("its configuration has another issuer, or keys without https")
	}
	if err != nil {
		return nil, oauth2.Endpoint{}, err
	}
	keys, err := p.fetchKeys(ctx, about.Keys)
	return keys, oauth2.Endpoint{AuthURL: about.Auth, TokenURL: about.Token}, err
}

func (p *Provider) fetchKeys(ctx context.Context, url string) (map[string]crypto.PublicKey, error) {
	var set struct {
		Keys []jwk `json:"keys"`
	}
	if err := p.get(ctx, url, &set); err != nil {
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

func (p *Provider) client() *http.Client {
	if p.HTTP != nil {
		return p.HTTP
	}
	return &http.Client{Timeout: 10 * time.Second}
}

func (p *Provider) get(ctx context.Context, url string, into any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r, err := p.client().Do(q)
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
