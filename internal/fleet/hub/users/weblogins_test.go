package users

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/route"
)

// browsers are the users of a fleet of two hubs, with a clock and an audit log.
type browsers struct {
	t     *testing.T
	store fleet.Store
	hubs  [2]Browsers
	now   time.Time

	mu       sync.Mutex
	log      []access.Entry
	failures int
}

func newBrowsers(t *testing.T) *browsers {
	b := &browsers{t: t, store: likeNATS{bustest.NewStore()}, now: time.Unix(1_800_000_000, 0)}
	for i := range b.hubs {
		table := &records.Table{Buckets: map[string]fleet.Store{"people": b.store}}
		table.Users = records.NewLastKnown(b.store, func() error { return nil })
		a := &Accounts{Config{Now: func() time.Time { return b.now }, Keep: time.Hour, Records: table,
			URL: "https://hub1.example.org:7440"}}
		gate := access.Gate{Users: table.Users, Now: a.Now}
		b.hubs[i] = Browsers{Accounts: a, Authenticate: gate.Authenticate, Audit: b.audit,
			MayChange: func() error { return nil }, CountFailure: func(*http.Request) bool {
				b.failures++
				return b.failures < 4
			}}
	}
	b.user("kim", false, access.Operator)
	return b
}

func (b *browsers) audit(_ context.Context, e access.Entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, e)
	return nil
}

func (b *browsers) user(name string, locked bool, roles ...access.Role) {
	b.t.Helper()
	text, err := json.Marshal(access.User{Name: name, Roles: roles, Locked: locked})
	if err == nil {
		_, err = b.store.Put(b.t.Context(), access.UserKey(name), text)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// code returns the code of a new link of kim.
func (b *browsers) code() string {
	b.t.Helper()
	w, err := b.hubs[0].Accounts.CreateWebLogin(b.t.Context(),
		api.Caller{Principal: access.NewPrincipal("kim", "test", access.Reader)},
		document.WebLoginRequest{})
	if err != nil {
		b.t.Fatal(err)
	}
	u, err := url.Parse(w.Link)
	if err != nil || u.Path != SignInPath || u.Host != "hub1.example.org:7440" {
		b.t.Fatal(w, err)
	}
	return u.Query().Get("code")
}

func request(secret string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	return r
}

// otherSecret returns a code whose ID is in the store, with the hash of another secret.
func (b *browsers) otherSecret() string {
	b.t.Helper()
	kim := access.User{Name: "kim", Roles: []access.Role{access.Reader}}
	_, w := access.NewWebLogin(kim, access.NewPrincipal("kim", "test", access.Reader), b.now)
	code, second := access.NewWebLogin(kim, access.NewPrincipal("kim", "test", access.Reader), b.now)
	second.Hash = w.Hash
	text, err := json.Marshal(second)
	if err == nil {
		_, err = b.store.Put(b.t.Context(), access.WebLoginKey(second.ID), text)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return code
}

// likeNATS is a store in which a deletion without a revision also succeeds for a missing key.
type likeNATS struct{ fleet.Store }

func (s likeNATS) Delete(ctx context.Context, key string, rev uint64) error {
	if err := s.Store.Delete(ctx, key, rev); rev != 0 || !errors.Is(err, fleet.ErrNotFound) {
		return err
	}
	return nil
}

// Of many browsers at two hubs, exactly one uses a link.
func TestOneBrowserUsesALink(t *testing.T) {
	b := newBrowsers(t)
	code := b.code()
	w, rev, err := b.hubs[0].Accounts.WebLogin(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	results := make([]error, 20)
	for i := range results {
		b.hubs[i%2].CountFailure = func(*http.Request) bool { return true }
	}
	for i := range results {
		all.Go(func() { _, _, results[i] = b.hubs[i%2].SignIn(request(""), code) })
	}
	all.Wait()
	if _, _, err := b.hubs[1].Accounts.RedeemWebLogin(t.Context(), w, rev); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a hub that read the link before: %v", err)
	}
	used := 0
	for _, err := range results {
		if err == nil {
			used++
		} else if !errors.Is(err, fleet.ErrDenied) {
			t.Error(err)
		}
	}
	if logins, err := b.hubs[0].Accounts.Logins(t.Context(), api.Caller{}, route.UserName{User: "kim"},
		route.None{}); used != 1 ||
		err != nil || len(logins.Logins) != 1 {
		t.Errorf("%d browsers are signed in, with %v, %v", used, logins, err)
	}
}

// A session has the rights of the link. It ends when the user signs out, and when the user is locked out.
func TestSignInAndOut(t *testing.T) {
	b := newBrowsers(t)
	one, two := b.hubs[0], b.hubs[1]
	secret, life, err := two.SignIn(request(""), b.code())
	if err != nil || life != access.SessionLife {
		t.Fatal(life, err)
	}
	if who, err := one.Authenticate(request(secret)); err != nil || who.Name != "kim" || who.May(access.Operate) {
		t.Errorf("%+v, %v", who, err)
	}
	b.user("kim", true, access.Operator)
	if _, err := one.Authenticate(request(secret)); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a locked user: %v", err)
	}
	b.user("kim", false, access.Operator)
	if err := one.SignOut(request(secret)); err != nil {
		t.Fatal(err)
	}
	for _, hub := range b.hubs {
		if _, err := hub.Authenticate(request(secret)); !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("after signing out: %v", err)
		}
	}
	if err := one.SignOut(request(secret)); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("signing out twice: %v", err)
	}
	var said []string
	for _, e := range b.log {
		said = append(said, e.User+" "+e.Operation+" "+e.Outcome)
		if strings.Contains(e.Credential+e.Object+e.Reason+e.Outcome, secret) {
			t.Errorf("the audit log has the secret: %+v", e)
		}
	}
	if got := strings.Join(said, ", "); got != "kim POST /sign-in begun, kim POST /sign-in done, "+
		"kim POST /sign-out begun, kim POST /sign-out done" {
		t.Error(got)
	}
}

// Wrong codes, links that have expired, and links of locked users give no session. Failures are counted, and recorded
// only until there are too many.
func TestWrongWebLogins(t *testing.T) {
	b := newBrowsers(t)
	late := b.code()
	b.now = b.now.Add(access.WebLoginLife)
	if _, _, err := b.hubs[1].SignIn(request(""), late); !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("a link that has expired: %v", err)
	}
	good, other := b.code(), b.otherSecret()
	for _, code := range []string{"", "x", good[:len(good)-2], other, strings.Repeat("x", 1<<16)} {
		if _, _, err := b.hubs[0].SignIn(request(""), code); !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("%.80q: %v", code, err)
		}
	}
	if b.failures != 6 || len(b.log) != 3 || b.log[0].Outcome != access.Denied {
		t.Errorf("%d failures, %+v", b.failures, b.log)
	}
	if _, _, err := b.hubs[0].SignIn(request(""), good); err != nil {
		t.Errorf("a good link after too many failures: %v", err)
	}
}

// Only an admin creates links of other users. Users without a record, and locked ones, get no link.
func TestWhoCreatesWebLogins(t *testing.T) {
	b := newBrowsers(t)
	b.user("ann", true, access.Admins)
	session := access.NewPrincipal("kim", "token", access.Operator)
	session.Session = true // a stolen one must not create others
	admin, root := access.NewPrincipal("eva", "oidc", access.Admins), access.NewPrincipal("root", "socket", access.Admins)
	for _, c := range []struct {
		by   access.Principal
		user string
		ok   bool
	}{
		{access.NewPrincipal("kim", "test", access.Reader), "", true},
		{access.NewPrincipal("kim", "test", access.Reader), "kim", true},
		{access.NewPrincipal("bob", "test", access.Operator, access.Approver), "kim", false},
		{admin, "kim", true}, {admin, "", false}, {admin, "ann", false}, {root, "kim", true}, {root, "", false},
		{access.NewPrincipal("kim", "test"), "", false}, {session, "", false},
	} {
		w, err := b.hubs[0].Accounts.CreateWebLogin(t.Context(), api.Caller{Principal: c.by},
			document.WebLoginRequest{User: c.user})
		if (err == nil) != c.ok || c.ok && w.User != "kim" {
			t.Errorf("%s for %q: %+v, %v", c.by, c.user, w, err)
		}
	}
}

// A new link removes expired links, and sessions that ended long ago. Other tokens stay.
func TestWebLoginsAreForgotten(t *testing.T) {
	b := newBrowsers(t)
	b.code()
	if _, _, err := b.hubs[0].SignIn(request(""), b.code()); err != nil {
		t.Fatal(err)
	}
	login, err := b.hubs[0].Accounts.CreateLogin(t.Context(),
		api.Caller{Principal: access.NewPrincipal("root", "socket", access.Admins)}, route.UserName{User: "kim"},
		document.LoginRequest{Expires: int64(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	count := func() (n int) {
		all, err := b.store.All(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	b.now = b.now.Add(access.SessionLife + time.Hour) // Keep is an hour
	if b.code(); count() != 4 {                       // user, login, session and new link
		t.Errorf("%d records", count())
	}
	b.now = b.now.Add(time.Second)
	b.code()
	logins, err := b.hubs[0].Accounts.Logins(t.Context(), api.Caller{}, route.UserName{User: "kim"},
		route.None{})
	if err != nil || len(logins.Logins) != 1 || logins.Logins[0].ID != login.ID {
		t.Errorf("%+v, %v", logins, err)
	}
}
