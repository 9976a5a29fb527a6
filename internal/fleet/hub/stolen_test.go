package hub_test

import (
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/pki"
)

// A thief has the keys of a hub and keeps its bus connected. When that hub is retired as lost, the
// thief is disconnected, and the fleet works.
func TestStolenHubIsCutOff(t *testing.T) {
	if os.Getenv("FETTLE_LONG") == "" {
		return // it takes half a minute
	}
	t.Parallel()
	w := newSeveral(t)
	first := w.hubs[0]
	var tok document.NewToken
	first.must("POST", "/v1/tokens", document.TokenRequest{Hub: true}, &tok)
	b, _ := w.settings("hub2")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	set, err := hub.Join(ctx, hub.JoinOptions{InitOptions: b, URL: first.api, Token: tok.Secret})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := hub.ReadSettings(w.host, first.dir())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := pki.OpenHub(w.host, filepath.Join(b.Dir, "keys"))
	if err != nil {
		t.Fatal(err)
	}
	trust, err := keys.Trust(nil)
	if err != nil {
		t.Fatal(err)
	}
	thief, err := bus.Start(t.Context(), bus.Config{
		Dir: filepath.Join(b.Dir, "bus"), Name: "hub2", Listen: set.Bus, TLS: trust.BusTLS(keys.TLS, time.Now),
		Identify: func(*tls.ConnectionState) (fleet.TargetID, error) { return "", errors.New("nobody") },
		Cluster: &bus.Cluster{
			Name: set.Fleet, Listen: set.Cluster, TLS: trust.HubTLS(keys.TLS, time.Now), Files: w.host,
			Peers: []string{"hub2", "hub1"}, Routes: []string{theirs.Cluster},
			Identify: func(*tls.ConnectionState) error { return nil },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer thief.Close()
	w.kept(first, 2)
	if !thief.IsConnected("hub1") {
		t.Fatal("it is not connected at first")
	}
	first.must("POST", "/v1/hubs/hub2/retire", document.HubRetirement{Reason: "stolen", Lost: true}, &document.Done{})
	until(t, "it is cut off", func() (bool, bool) { is := thief.IsConnected("hub1"); return is, !is })
	w.kept(first, 1)
	first.must("POST", "/v1/tokens", document.TokenRequest{Hub: true}, &tok)
	if thief.IsConnected("hub1") {
		t.Error("it is connected again")
	}
}
