package hubtasks

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/port"
	"fettle.dev/fettle/test/sample"
)

// tsigKey is the key with which clients of the DNS server sign their updates.
const tsigKey = "c29tZSBrZXkgb2YgdGhlIHpvbmUsIDMyIGJ5dGVzISE="

// Users of the host: one for the hub, and one for its tasks.
const (
	hubUser, hubUID   = "games", 5
	taskUser, taskUID = "nobody", 65534
)

// publish adds the digest of its input to the zone. It also prints its secret, and fails if it can read the keys of the
// hub or use its socket.
const publish = `#!/bin/sh
set -e
echo "the key is $TSIG_KEY" >&2
! ls HUB/keys
test "$(id -un)" = nobody
test ! -w HUB.sock.d/socket
knsupdate <<END
server 127.0.0.1 PORT
key hmac-sha256:acme $TSIG_KEY
zone example.test.
update delete crl.example.test. TXT
update add crl.example.test. 60 TXT "$(sha256sum | cut -c1-64)"
send
END
`

// world has the processes of the test.
type world struct {
	*testing.T
	dir, dns string
	mu       sync.Mutex
	output   bytes.Buffer // of all processes
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.output.Write(b)
}

// TestCRLInDNS: a hub publishes the CRL of the fleet CA in a zone of a DNS server. Only the hub can decrypt the key of
// the zone, and no file, answer or output has the key.
func TestCRLInDNS(t *testing.T) {
	sample.Group(t, 5)
	needs.Root(t)
	for _, tool := range []string{"knotd", "knsupdate", "kdig", "git"} {
		needs.Program(t, tool)
	}
	w := &world{T: t, dir: t.TempDir()}
	for dir := w.dir; dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", w.path("home"))
	if err := gobuild.Program(w.path("fettle"), gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	w.dnsServer()
	w.hub()
	w.repository()
	w.start(0, "hub", "run", "--dir", w.path("hub"), "--socket", w.path("hub.sock.d/socket"), "--task-socket",
		w.path("tasks/socket"))
	w.awaitTask("waiting", "tasks are not allowed")
	if err := os.Mkdir(w.path("tasks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(w.path("tasks"), taskUID, taskUID); err != nil {
		t.Fatal(err)
	}
	w.start(taskUID, "hub", "tasks", "--socket", w.path("tasks/socket"), "--hub-user", hubUser)
	w.awaitTask("done", "")
	crl, err := os.ReadFile(w.path("site/crl.pem"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := w.query(), fmt.Sprintf("\"%x\"", sha256.Sum256(crl)); got != want {
		t.Errorf("the zone has %s, want %s", got, want)
	}
	w.commit("publish", "exit 1")
	w.awaitTask("failed", "the key is (secret)")
	w.noSecret()
}

// run runs a program as a user.
func (w *world) run(uid uint32, argv ...string) string {
	w.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir = w.dir
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("%v: %v\n%s%s", argv, err, out, errors.String())
	}
	return strings.TrimSpace(string(out))
}

// start starts fettle as a user until the end of the test.
func (w *world) start(uid uint32, args ...string) {
	w.Helper()
	w.background(uid, append([]string{w.path("fettle")}, args...)...)
}

func (w *world) background(uid uint32, argv ...string) {
	w.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.dir, w, w
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if w.Failed() {
			w.Logf("%v\n%s", argv, w.output.String())
		}
	})
}

// file writes a file that all users can read.
func (w *world) file(name, text string, mode fs.FileMode) {
	w.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), mode); err != nil {
		w.Fatal(err)
	}
}

// dnsServer starts a DNS server with the zone example.test.
func (w *world) dnsServer() {
	w.dns = port.Reserve(w)
	_, dnsPort, _ := net.SplitHostPort(w.dns)
	w.file("knot/example.test.zone", "$ORIGIN example.test.\n@ 60 SOA ns admin 1 3600 600 86400 60\n@ 60 NS ns\n"+
		"ns 60 A 127.0.0.1\n", 0o644)
	w.file("knot/knot.conf", fmt.Sprintf(`server:
  listen: 127.0.0.1@%s
  rundir: %s
key:
  - id: acme
    algorithm: hmac-sha256
    secret: %s
acl:
  - id: updates
    key: acme
    action: update
database:
  storage: %s
template:
  - id: default
    storage: %s
    zonefile-sync: -1
zone:
  - domain: example.test
    file: example.test.zone
    acl: updates
`, dnsPort, w.path("knot"), tsigKey, w.path("knot"), w.path("knot")), 0o600)
	w.background(0, needs.Program(w, "knotd"), "-c", w.path("knot/knot.conf"))
	w.file("publish", strings.NewReplacer("HUB", w.path("hub"), "PORT", dnsPort).Replace(publish), 0o755)
}

// hub creates a hub, with an identity for secrets.
func (w *world) hub() {
	w.Helper()
	w.run(0, w.path("fettle"), "hub", "init", "--fleet", "acme", "--dir", w.path("hub"), "--user", hubUser, "--api",
		port.Reserve(w), "--bus", port.Reserve(w), "--cluster", port.Reserve(w), "--address", "127.0.0.1", "--repository",
		"file://"+w.path("site"), "--poll", "1s")
	w.run(hubUID, w.path("fettle"), "secret", "identity", w.path("hub/identity"))
}

// repository creates the repository of the fleet, with the CRL and the secret of the hub.
func (w *world) repository() {
	w.Helper()
	w.file("home/.keep", "", 0o600)
	w.file("site/crl.pem", w.crl(), 0o644)
	w.run(0, "git", "init", "-q", "-b", "main", w.path("site"))
	public := w.run(hubUID, w.path("fettle"), "secret", "identity", w.path("hub/identity"))
	w.file("site/fettle.hcl", "", 0o644)
	w.inSite("fettle secret init")
	w.inSite("fettle secret add-recipient hub hub1 " + public + " --only 'hubs/*'")
	w.inSite("printf %s " + tsigKey + " | fettle secret set hubs/tsig")
	w.commit("publish", "exit 0")
}

func (w *world) inSite(script string) {
	w.Helper()
	w.run(0, "sh", "-c", "cd "+w.path("site")+" && PATH="+w.dir+":$PATH && "+script)
}

// commit declares the task, whose command ends with a script.
func (w *world) commit(name, end string) {
	w.Helper()
	w.file("site/fettle.hcl", fmt.Sprintf(`universe "main" {
  task "crl" {
    command = ["sh", "-c", "%s && %s"]
    input   = file("crl.pem")
    secrets = { TSIG_KEY = "hubs/tsig" }
  }
}
`, w.path(name), end), 0o644)
	w.inSite("git add -A && git -c user.name=a -c user.email=a@b commit -qm " + name)
}

// crl returns a CRL of the fleet CA.
func (w *world) crl() string {
	w.Helper()
	read := func(name string) []byte {
		text, err := os.ReadFile(w.path("hub/authority/" + name))
		if err != nil {
			w.Fatal(err)
		}
		b, _ := pem.Decode(text)
		return b.Bytes
	}
	cert, err := x509.ParseCertificate(read("authority.pem"))
	if err != nil {
		w.Fatal(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(read("authority.key"))
	if err != nil {
		w.Fatal(err)
	}
	list, err := x509.CreateRevocationList(rand.Reader, &x509.RevocationList{Number: big.NewInt(1),
		ThisUpdate: time.Now(), NextUpdate: time.Now().Add(time.Hour)}, cert, key.(crypto.Signer))
	if err != nil {
		w.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: list}))
}

// query returns the record of the CRL.
func (w *world) query() string {
	w.Helper()
	_, dnsPort, _ := net.SplitHostPort(w.dns)
	return w.run(0, "kdig", "@127.0.0.1", "-p", dnsPort, "+short", "TXT", "crl.example.test")
}

// get returns the answer of the hub.
func (w *world) get(path string) (body []byte, err error) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			return net.Dial("unix", w.path("hub.sock.d/socket"))
		}}}
	r, err := client.Get("http://hub" + path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Body.Close() }()
	var b bytes.Buffer
	_, err = b.ReadFrom(r.Body)
	return b.Bytes(), err
}

// awaitTask waits until the only task has a phase and a text.
func (w *world) awaitTask(phase document.TaskPhase, text string) {
	w.Helper()
	var last string
	for end := time.Now().Add(6 * time.Minute); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		body, err := w.get("/v1/tasks")
		var p document.TaskPage
		if last = string(body); err == nil && json.Unmarshal(body, &p) == nil && len(p.Tasks) == 1 {
			if x := p.Tasks[0]; x.Phase == phase && strings.Contains(x.Why(), text) {
				return
			}
		}
	}
	w.Fatalf("the task does not become %s: %s", phase, last)
}

// noSecret demands that the key is only in the configuration of the DNS server.
func (w *world) noSecret() {
	w.Helper()
	err := filepath.WalkDir(w.dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || strings.HasPrefix(file, w.path("knot")) {
			return err
		}
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte(tsigKey)) {
			w.Errorf("%s has the key, or cannot be read: %v", file, err)
		}
		return nil
	})
	if err != nil {
		w.Error(err)
	}
	for _, path := range []string{"/v1/tasks", "/v1/scopes/universe/main", "/v1/events", "/v1/jobs"} {
		if body, err := w.get(path); err != nil || bytes.Contains(body, []byte(tsigKey)) {
			w.Errorf("%s has the key, or cannot be read: %v", path, err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if bytes.Contains(w.output.Bytes(), []byte(tsigKey)) {
		w.Error("a process printed the key")
	}
}
