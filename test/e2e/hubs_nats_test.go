package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/test/hosts"
	"fettle.dev/fettle/test/sample"
)

// natsServer is the package of the server itself.
const natsServer = "github.com/nats-io/nats-server/v2"

// TestHubsOnNATS makes a fleet of two hubs on a NATS server as the documents say, with
// their very settings of it. The server is restarted while agents apply, and the hub that
// leads is killed: nothing is lost, and nothing is done twice.
func TestHubsOnNATS(t *testing.T) {
	sample.Group(t, 2)
	t.Parallel()
	repo := hosts.NewRepo(t)
	repo.AddDebian(t)
	repo.Publish(t)
	server := buildProgram(t, natsServer, "test")
	w := hosts.NewWorld(t)
	ms := make([]*machine, 3)
	var all sync.WaitGroup
	for i, name := range []string{"hub1", "hub2", "web1"} {
		all.Go(func() {
			ms[i] = newMachine(t, w, name, repo)
			if i < 2 {
				ms[i].Run(t, "apt-get", "install", "-qy", "git")
			}
			ms[i].units()
		})
	}
	all.Wait()
	n := &onNATS{hubsOf{t: t, hubs: ms[:2], agents: ms[2:]}, ms[2]}
	n.serve(server)
	n.begin()
	n.serverRestarted()
	n.leaderKilled()
	onceEach(&n.hubsOf)
}

// onNATS is a fleet whose hubs keep everything on a NATS server, on a host of its own.
type onNATS struct {
	hubsOf
	nats *machine
}

// serve runs the server with the settings in the documents.
func (n *onNATS) serve(program string) {
	m := n.nats
	m.Copy(n.t, program, "/root/nats-server")
	m.Run(n.t, "install", "/root/nats-server", "/usr/local/bin/nats-server")
	m.WriteFile(n.t, "/etc/nats/nats.conf", documentedNATS(n.t), 0o600)
	ca, cert, key := natsCertificate(n.t)
	m.WriteFile(n.t, "/etc/nats/nats1.pem", cert, 0o644)
	m.WriteFile(n.t, "/etc/nats/nats1.key", key, 0o600)
	m.WriteFile(n.t, "/etc/systemd/system/nats.service",
		"[Service]\nExecStart=/usr/local/bin/nats-server -c /etc/nats/nats.conf\n", 0o644)
	m.Run(n.t, "systemctl", "daemon-reload")
	m.Run(n.t, "systemctl", "start", "nats")
	for i, h := range n.hubs {
		h.WriteFile(n.t, "/etc/hosts", "127.0.0.1 localhost\n"+m.Addr+" nats1.example.org\n", 0o644)
		h.WriteFile(n.t, "/root/ca.pem", ca, 0o644)
		h.WriteFile(n.t, "/root/hub.creds", []string{"hub1:a long one", "hub2:another one"}[i]+"\n", 0o600)
	}
}

// documentedNATS is the file of settings in the documents.
func documentedNATS(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/fleet-operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, conf, found := strings.Cut(string(text), "```\nserver_name: ")
	conf, _, ends := strings.Cut(conf, "```")
	if !found || !ends {
		t.Fatal("the documents have no settings of a NATS server")
	}
	return "server_name: " + conf
}

// natsCertificate makes an authority, and a certificate of it for the server with its key.
func natsCertificate(t *testing.T) (ca, cert, key string) {
	t.Helper()
	named := func(name string, authority bool) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
			IsCA: authority, BasicConstraintsValid: true,
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		}
	}
	root, own := named("NATS", true), named("nats1.example.org", false)
	rootKey, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ownKey, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	rootDER, err3 := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	ownDER, err4 := x509.CreateCertificate(rand.Reader, own, root, ownKey.Public(), rootKey)
	keyDER, err5 := x509.MarshalPKCS8PrivateKey(ownKey)
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return text("CERTIFICATE", rootDER), text("CERTIFICATE", ownDER), text("PRIVATE KEY", keyDER)
}

// begin makes both hubs and the agent.
func (n *onNATS) begin() {
	n.commit("one")
	first, second := n.hubs[0], n.hubs[1]
	first.hubUser()
	second.hubUser()
	first.Run(n.t, "fettle", "hub", "init", "--fleet", "acme", "--address", first.Addr, "--repository",
		"file:///srv/site", "--poll", "2s",
		"--nats", "tls://nats1.example.org:4222", "--nats-creds", "/root/hub.creds", "--nats-ca", "/root/ca.pem",
		"--nats-replicas", "1")
	first.Run(n.t, "systemctl", "enable", "--now", "fettle-hub")
	n.enrol(n.agents[0], first, "role=web")
	token := n.output(first, "fettle", "hub", "token")
	r := second.ExecInput(strings.NewReader(token), "fettle", "hub", "join", "https://"+first.Addr+":7440",
		"--token-file", "-", "--address", second.Addr, "--nats-creds", "/root/hub.creds")
	if r.ExitCode != 0 {
		n.t.Fatalf("hub2 does not join: %s%s%s", r.Stdout, r.Stderr, n.situation())
	}
	second.Run(n.t, "systemctl", "enable", "--now", "fettle-hub")
	n.both()
	n.arrived()
	if out := second.Run(n.t, "fettle", "hub", "list"); !strings.Contains(out,
		"All data is stored on one server of the NATS cluster") {
		n.t.Errorf("%s", out)
	}
}

// both waits until both hubs are there, and say so.
func (n *onNATS) both() {
	n.t.Helper()
	n.await("both hubs are there", func() bool {
		for _, h := range n.hubs {
			if p := n.page(h); len(p.Hubs) != 2 || !p.Hubs[0].Here || !p.Hubs[1].Here || !p.Whole {
				return false
			}
		}
		return true
	})
}

// serverRestarted: the server is away while the agent applies, and killed while hubs assign.
func (n *onNATS) serverRestarted() {
	began := time.Now()
	n.commit("two")
	n.await("web1 applies", func() bool { return len(lines(n.agents[0], "/var/log/begun")) == 2 })
	n.nats.Run(n.t, "systemctl", "stop", "nats")
	n.arrived()
	n.nats.Run(n.t, "systemctl", "start", "nats")
	n.both()
	n.t.Logf("the server was away, and both hubs are there again after %s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	n.commit("three")
	n.nats.Run(n.t, "systemctl", "kill", "-s", "KILL", "nats")
	n.await("the server is dead", func() bool { return n.nats.Exec("systemctl", "is-active", "nats").ExitCode != 0 })
	n.nats.Run(n.t, "systemctl", "start", "nats")
	n.arrived()
	n.t.Logf("from git to the agent in %s, the server was killed meanwhile", time.Since(began).Round(time.Millisecond))
	n.both()
}

// leaderKilled: the other hub leads, and has the agent.
func (n *onNATS) leaderKilled() {
	leads := n.leader(nil)
	began := time.Now()
	n.commit("four")
	leads.Run(n.t, "systemctl", "kill", "-s", "KILL", "fettle-hub")
	leads.Run(n.t, "systemctl", "stop", "fettle-hub")
	n.arrived()
	next := n.leader(leads)
	n.t.Logf("%s leads, and the agent has what was given, %s after %s was killed", next.Name,
		time.Since(began).Round(time.Millisecond), leads.Name)
	n.commit("five")
	n.arrived()
	leads.Run(n.t, "systemctl", "start", "fettle-hub")
	n.both()
}
