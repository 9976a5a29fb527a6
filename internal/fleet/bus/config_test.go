package bus

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"

	"fettle.dev/fettle/internal/fleet"
)

func identifyNobody(*tls.ConnectionState) (fleet.TargetID, error) { return "", errors.New("nobody") }

// TestOptions: what is durable is flushed, and nothing listens that nobody asked for.
func TestOptions(t *testing.T) {
	c := Config{Dir: t.TempDir(), Listen: ":7422", TLS: &tls.Config{MinVersion: tls.VersionTLS10}, Identify: identifyNobody}
	o, err := c.options()
	if err != nil {
		t.Fatal(err)
	}
	if !o.SyncAlways || !o.JetStream || o.StoreDir != c.Dir || o.JetStreamLimits.DefaultMaxConsumers != -1 {
		t.Error("the store is not what it should be")
	}
	if o.HTTPPort != 0 || o.HTTPSPort != 0 || o.LeafNode.Port != 0 || o.Gateway.Port != 0 || o.Websocket.Port != 0 || o.MQTT.Port != 0 || o.Cluster.Port != 0 || o.ProfPort != 0 || o.NoAuthUser != "" || o.AllowNonTLS {
		t.Error("something listens that nobody asked for")
	}
	if !o.DontListen || o.TLSConfig != nil {
		t.Error("the server that keeps everything listens")
	}
}

// TestStrict: a configuration for single connections is made as strict as all others.
func TestStrict(t *testing.T) {
	lax := &tls.Config{MinVersion: tls.VersionTLS10, ClientAuth: tls.NoClientCert}
	c := strict(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return lax, nil }}, limits{before: limited(2)})
	for i := range 3 {
		conn, far := net.Pipe()
		defer far.Close()
		got, err := c.GetConfigForClient(&tls.ClientHelloInfo{Conn: conn})
		if i == 2 {
			if !errors.Is(err, errTooMany) {
				t.Errorf("the third in a second: %v", err)
			}
			return
		}
		if err != nil || got.MinVersion != tls.VersionTLS13 || got.ClientAuth != tls.RequireAndVerifyClientCert || !got.SessionTicketsDisabled {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	good := Config{Dir: "/x", Listen: ":0", TLS: &tls.Config{}, Identify: identifyNobody}
	for name, change := range map[string]func(*Config){
		"folder":      func(c *Config) { c.Dir = "" },
		"certificate": func(c *Config) { c.TLS = nil },
		"identity":    func(c *Config) { c.Identify = nil },
		"address":     func(c *Config) { c.Listen = "here" },
		"port":        func(c *Config) { c.Listen = ":70000" },
		"cluster":     func(c *Config) { c.Cluster = &Cluster{Name: "x"} },
		"foreign":     func(c *Config) { c.Foreign = &Foreign{} },
	} {
		c := good
		change(&c)
		if _, err := Start(t.Context(), c); err == nil {
			t.Errorf("%s: started", name)
		}
	}
}
