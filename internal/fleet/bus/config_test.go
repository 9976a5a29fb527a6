package bus

import (
	"crypto/tls"
	"errors"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

func identifyNobody(*tls.ConnectionState) (fleet.TargetID, error) { return "", errors.New("nobody") }

// TestOptions: durable data is flushed, and there are no listeners that are not configured.
func TestOptions(t *testing.T) {
	c := Config{Dir: t.TempDir(), Listen: ":7422", TLS: &tls.Config{MinVersion: tls.VersionTLS10},
		Identify: identifyNobody}
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || !o.JetStream || o.StoreDir != c.Dir || o.JetStreamLimits.DefaultMaxConsumers != -1 {
		t.Error("the store is not what it should be")
	}
	if o.HTTPPort != 0 || o.HTTPSPort != 0 || o.LeafNode.Port != 0 || o.Gateway.Port != 0 || o.Websocket.Port != 0 ||
		o.MQTT.Port != 0 || o.Cluster.Port != 0 || o.ProfPort != 0 || o.NoAuthUser != "" || o.AllowNonTLS {
		t.Error("something listens that nobody asked for")
	}
	if !o.DontListen || o.TLSConfig != nil {
		t.Error("the server that keeps everything listens")
	}
}

// TestStrict: a configuration for single connections has the same requirements as all other ones. A
// chain is verified here unless the configuration verifies it itself.
func TestStrict(t *testing.T) {
	verifies := func(tls.ConnectionState) error { return nil }
	for _, c := range []struct {
		auth   tls.ClientAuthType
		verify func(tls.ConnectionState) error
		want   tls.ClientAuthType
	}{
		{tls.NoClientCert, nil, tls.RequireAndVerifyClientCert},
		{tls.NoClientCert, verifies, tls.RequireAndVerifyClientCert},
		{tls.RequestClientCert, verifies, tls.RequireAndVerifyClientCert},
		{tls.RequireAnyClientCert, nil, tls.RequireAndVerifyClientCert},
		{tls.RequireAnyClientCert, verifies, tls.RequireAnyClientCert},
	} {
		lax := &tls.Config{MinVersion: tls.VersionTLS10, ClientAuth: c.auth, VerifyConnection: c.verify}
		whole := strict(lax, nil)
		each, err := strict(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return lax,
				nil
		}}, nil).GetConfigForClient(&tls.ClientHelloInfo{})
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []*tls.Config{whole, each} {
			if got.MinVersion != tls.VersionTLS13 || got.ClientAuth != c.want || !got.SessionTicketsDisabled {
				t.Errorf("%+v: got %+v", c, got)
			}
		}
	}
	wrong := errors.New("no")
	both := strict(&tls.Config{ClientAuth: tls.RequireAnyClientCert, VerifyConnection: verifies},
		func(*tls.ConnectionState) error { return wrong })
	if err := both.VerifyConnection(tls.ConnectionState{}); !errors.Is(err, wrong) {
		t.Errorf("the second is not asked: %v", err)
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	good := Config{Dir: "/x", Listen: ":0", TLS: &tls.Config{}, Identify: identifyNobody}
	for name, change := range map[string]func(*Config){
		"directory":   func(c *Config) { c.Dir = "" },
		"certificate": func(c *Config) { c.TLS = nil },
		"identity":    func(c *Config) { c.Identify = nil },
		"address":     func(c *Config) { c.Listen = "here" },
		"port":        func(c *Config) { c.Listen = ":70000" },
		"cluster":     func(c *Config) { c.Cluster = &Cluster{Name: "x"} },
		"foreign":     func(c *Config) { c.ExternalNats = &ExternalNats{} },
	} {
		c := good
		change(&c)
		if _, err := Start(t.Context(), c); err == nil {
			t.Errorf("%s: started", name)
		}
	}
}
