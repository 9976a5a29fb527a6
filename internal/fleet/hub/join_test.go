package hub_test

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/test/sample"
)

// A hub cannot join with a token for targets, of another fleet, or with a spent or mistyped one. A
// target cannot enrol with a token for hubs.
func TestJoinRefused(t *testing.T) {
	sample.Group(t, 1, 9)
	t.Parallel()
	w := newSeveral(t)
	first := w.hubs[0]
	token := func(r document.TokenRequest) string {
		var tok document.NewToken
		first.must("POST", "/v1/tokens", r, &tok)
		return tok.Secret
	}
	join := func(name, secret string) error {
		b, _ := w.settings(name)
		b.Dir = filepath.Join(w.dir, "joins-"+name)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := hub.Join(ctx, hub.JoinOptions{InitOptions: b, URL: first.api, Token: secret})
		return err
	}
	other, err := hub.Init(hub.InitOptions{Files: w.host, Dir: filepath.Join(w.dir, "other"),
		Hosts: []string{"127.0.0.1"}, Now: time.Now(),
		Settings: hub.Settings{Fleet: "other", Name: "hub1", API: ":0", Bus: ":0"}})
	if err != nil {
		t.Fatal(err)
	}
	foreign, _, err := pki.NewToken(pki.Terms{Uses: 1, Hub: true, Expires: time.Now().Add(time.Hour).Unix()}, other,
		"ann", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	good := token(document.TokenRequest{Hub: true})
	swapped := "a"
	if strings.HasSuffix(good, "a") {
		swapped = "b"
	}
	for _, c := range []struct{ name, secret, want string }{
		{"a", token(document.TokenRequest{}), "it is for targets"},
		{"b", foreign.Text(), "does not belong to the fleet of the token"},
		{"c", good[:len(good)-1] + swapped, "incomplete or mistyped"},
		{"hub1", good, "a hub of that name exists"},
	} {
		if err := join(c.name, c.secret); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
	tok, err := pki.ParseToken(good)
	if err != nil {
		t.Fatal(err)
	}
	enrol := pki.Client{Directory: pki.Directory{FS: w.host, Dir: filepath.Join(w.dir, "agents", "x")}, Now: time.Now}
	if _, err := enrol.Enrol(t.Context(), first.api, tok, "x"); err == nil ||
		!strings.Contains(err.Error(), "it is for a hub") {
		t.Errorf("a target with a hub's token: %v", err)
	}
	if err := join("hub2", good); err != nil {
		t.Fatal(err)
	}
	if err := join("hub2", good); err == nil || !strings.Contains(err.Error(), hub.ErrExists.Error()) {
		t.Errorf("twice into one directory: %v", err)
	}
	if err := join("hub3", good); err == nil || !strings.Contains(err.Error(), "spent") {
		t.Errorf("with a token that is spent: %v", err)
	}
	// A hub that joined and does not run yet blocks further hubs.
	if err := join("hub4", token(document.TokenRequest{Hub: true})); err == nil ||
		!strings.Contains(err.Error(), "hub2 is not connected") {
		t.Errorf("beside one that is not there: %v", err)
	}
	w.stolen("hub2", filepath.Join(w.dir, "joins-hub2"))
	if err := join("hub5", token(document.TokenRequest{Hub: true})); err != nil {
		t.Errorf("when that one is out: %v", err)
	}
	b, _ := w.settings("hub2")
	b.Dir = filepath.Join(w.dir, "again")
	if _, err := hub.Join(t.Context(), hub.JoinOptions{InitOptions: b, URL: first.api,
		Token: token(document.TokenRequest{Hub: true})}); err == nil ||
		!strings.Contains(err.Error(), "a hub of that name was retired") {
		t.Errorf("under the name of one that was retired: %v", err)
	}
}

// stolen retires a hub whose keys were stolen. Afterwards the keys are refused everywhere: by other
// hubs, on the bus, and for content.
func (w *several) stolen(name, dir string) {
	t := w.t
	t.Helper()
	keys, err := pki.OpenHub(w.host, filepath.Join(dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	trust, err := keys.Trust(nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := hub.ReadSettings(w.host, w.hubs[0].dir())
	if err != nil {
		t.Fatal(err)
	}
	knock := func(at string) error {
		c, err := tls.Dial("tcp", at, trust.ClientTLS(keys.TLS, time.Now, nil))
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
			return err
		}
		// In TLS 1.3, a refusal arrives after the handshake of this end. An accepted client gets
		// data or nothing.
		_, err = c.Read(make([]byte, 1))
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
		}
		return err
	}
	for _, at := range []string{set.API, set.Cluster} {
		if err := knock(at); err != nil {
			t.Errorf("%s is not let in at %s before it is stolen: %v", name, at, err)
		}
	}
	w.hubs[0].must("POST", "/v1/hubs/"+name+"/retire", document.HubRetirement{Reason: "stolen", Lost: true},
		&document.Done{})
	for _, at := range []string{set.API, set.Cluster, set.Bus} {
		if err := knock(at); err == nil || !strings.Contains(err.Error(), "bad certificate") {
			t.Errorf("%s at %s: %v", name, at, err)
		}
	}
	w.kept(w.hubs[0], 1)
}

// note records what the hub tells the service manager.
func (o *one) note(state string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.serves = append(o.serves, state)
}
