package pki

import (
	"errors"
	"net/netip"
	"testing"
	"time"
)

// TestTokenOnce: each term of a token alone can refuse it, and a key that has used it needs no
// other use.
func TestTokenOnce(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	token := newToken([32]byte{1})
	stored := StoredToken{Terms: Terms{Uses: 2, Expires: now.Unix() + 10}, ID: token.ID, Hash: token.Secret.hash()}
	who := asking{secret: token.Secret, key: "k", name: "web1", address: netip.MustParseAddr("192.0.2.7")}
	spentBy := func(s StoredToken, keys ...string) StoredToken {
		for _, k := range keys {
			s = s.use(k, now)
		}
		return s
	}
	with := func(change func(*StoredToken)) StoredToken { s := stored; change(&s); return s }
	for name, c := range map[string]struct {
		s      StoredToken
		who    asking
		after  int64
		spend  bool
		status int
	}{
		"good":                    {stored, who, 0, true, 0},
		"a second before its end": {stored, who, 9, true, 0},
		"at its end":              {stored, who, 10, false, forbidden},
		"one use is left":         {spentBy(stored, "a"), who, 0, true, 0},
		"none is left":            {spentBy(stored, "a", "b"), who, 0, false, forbidden},
		"this key has one":        {spentBy(stored, "a", "k"), who, 0, false, 0},
		"has one, at its end":     {spentBy(stored, "k"), who, 10, false, 0},
		"withdrawn":               {with(func(s *StoredToken) { s.Withdrawn = 1 }), who, 0, false, unauthorized},
		"withdrawn, has one": {spentBy(with(func(s *StoredToken) { s.Withdrawn = 1 }), "k"), who, 0, false,
			unauthorized},
		"wrong secret": {stored, asking{secret: Secret{1}, key: "k", name: "web1"}, 0, false, unauthorized},
		"its network": {with(func(s *StoredToken) { s.Networks = []string{"198.51.100.0/24", "192.0.2.0/24"} }),
			who, 0, true, 0},
		"another network": {with(func(s *StoredToken) { s.Networks = []string{"198.51.100.0/24"} }), who, 0, false,
			forbidden},
		"another, has one": {spentBy(with(func(s *StoredToken) { s.Networks = []string{"198.51.100.0/24"} }), "k"),
			who, 0, false, forbidden},
		"a damaged network": {with(func(s *StoredToken) { s.Networks = []string{"x"} }), who, 0, false, forbidden},
		"its name":          {with(func(s *StoredToken) { s.Names = "web*" }), who, 0, true, 0},
		"another name":      {with(func(s *StoredToken) { s.Names = "db*" }), who, 0, false, forbidden},
		"a damaged name":    {with(func(s *StoredToken) { s.Names = "[" }), who, 0, false, forbidden},
	} {
		spend, err := c.s.admit(c.who, now.Add(time.Duration(c.after)*time.Second))
		refusal, is := errors.AsType[*Refusal](err)
		if spend != c.spend || is != (c.status != 0) || is && refusal.Status != c.status {
			t.Errorf("%s: %t, %v", name, spend, err)
		}
	}
}

// TestTermsHaveBounds: each invalid term alone is an error.
func TestTermsHaveBounds(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	good := Terms{Uses: 1, Expires: now.Unix() + 1}
	for name, c := range map[string]struct {
		change func(*Terms)
		good   bool
	}{
		"good": {func(*Terms) {}, true},
		"all": {func(t *Terms) {
			t.Fleet, t.Names, t.Networks, t.Uses, t.Approve = "prod", "w*", []string{"10.0.0.0/8"}, 1000, true
		}, true},
		"no use":            {func(t *Terms) { t.Uses = 0 }, false},
		"too many uses":     {func(t *Terms) { t.Uses = 1001 }, false},
		"expires now":       {func(t *Terms) { t.Expires = now.Unix() }, false},
		"a bad fleet":       {func(t *Terms) { t.Fleet = "Prod" }, false},
		"a bad pattern":     {func(t *Terms) { t.Names = "[" }, false},
		"a bad network":     {func(t *Terms) { t.Networks = []string{"10.0.0.0/8", "10.0.0.1"} }, false},
		"a bad label":       {func(t *Terms) { t.Labels = map[string]string{"": "x"} }, false},
		"a hub":             {func(t *Terms) { t.Hub = true }, true},
		"a hub with labels": {func(t *Terms) { t.Hub, t.Labels = true, map[string]string{"a": "b"} }, false},
		"hub of a fleet":    {func(t *Terms) { t.Hub, t.Fleet = true, "prod" }, false},
		"two hubs":          {func(t *Terms) { t.Hub, t.Uses = true, 2 }, false},
		"hub with approval": {func(t *Terms) { t.Hub, t.Approve = true, true }, false},
	} {
		terms := good
		c.change(&terms)
		if err := terms.Check(now); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
		token, stored, err := NewToken(terms, [32]byte{2}, "ada", now)
		if (err == nil) != c.good || c.good && (stored.By != "ada" || stored.Created != now.Unix() ||
			stored.ID != token.ID || token.Authority != [32]byte{2}) {
			t.Errorf("%s: %+v, %v", name, stored, err)
		}
	}
}
