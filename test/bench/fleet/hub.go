package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// hub is the real binary, in its own directory.
type hub struct {
	program  string
	base     string // of all directories
	api, bus string // addresses
	url      string
	secret   string // of hooks
	files    int    // the limit of open files; 0 is the limit of this process
	ask      *client.Client
	log      *os.File
	*process // nil while the hub is not running
}

// newHub prepares a hub for a repository, and does not start it.
func newHub(program, base, repository string, files int) (*hub, error) {
	api, err1 := freeAddress()
	bus, err2 := freeAddress()
	log, err3 := os.Create(filepath.Join(base, "hub.log"))
	for _, err := range []error{err1, err2, err3} {
		if err != nil {
			return nil, err
		}
	}
	h := &hub{program: program, base: base, api: api, bus: bus, url: "https://" + api, files: files, log: log}
	init := exec.Command(program, "hub", "init", "--fleet", "bench", "--name", "hub1", "--dir", h.dir(), "--address",
		"127.0.0.1",
		"--api", api, "--bus", bus, "--repository", "file://"+repository, "--poll", "1h")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot make a hub: %w\n%s", err, out)
	}
	secret, err := os.ReadFile(filepath.Join(h.dir(), "hook-secret"))
	if err != nil {
		return nil, err
	}
	h.secret = strings.TrimSpace(string(secret))
	h.ask, err = client.New(client.Login{Hub: "unix://" + h.socket()})
	return h, err
}

func (h *hub) dir() string    { return filepath.Join(h.base, "hub") }
func (h *hub) socket() string { return filepath.Join(h.base, "hub.sock") }

// start starts the hub, and returns when it answers.
func (h *hub) start(ctx context.Context) error {
	argv := []string{h.program, "hub", "run", "--dir", h.dir(), "--socket", h.socket()}
	if h.files > 0 {
		argv = append([]string{"sh", "-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(h.files)}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = h.log
	p, _, err := startProcess(cmd)
	if err != nil {
		text, _ := os.ReadFile(h.log.Name())
		return fmt.Errorf("%w\n%s", err, text)
	}
	h.process = p
	return await(ctx, "the hub", func() bool {
		_, err := client.Get(ctx, h.ask, route.Status())
		return err == nil
	})
}

// close ends the hub if it is running.
func (h *hub) close() {
	if h.process != nil {
		h.kill()
	}
	_ = h.log.Close()
}

// token creates a token for a number of hosts.
func (h *hub) token(ctx context.Context, uses int) (string, error) {
	t, err := client.Post(ctx, h.ask, route.CreateToken(), document.TokenRequest{
		Labels: map[string]string{"role": "web", "env": "prod"}, Uses: uses, Expires: int64(time.Hour)})
	return t.Secret, err
}

// backup saves the state of the hub to a file with the backup command.
func (h *hub) backup(file string) error {
	login, err := json.Marshal(client.Login{Format: client.LoginFormat, Hub: "unix://" + h.socket()})
	home := filepath.Join(h.base, "home", ".config", "fettle")
	if err := errors.Join(err, os.MkdirAll(home, 0o700),
		os.WriteFile(filepath.Join(home, "hub.json"), login, 0o600)); err != nil {
		return err
	}
	cmd := exec.Command(h.program, "hub", "backup", file, "--dir", h.dir())
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(h.base, "home"), "XDG_CONFIG_HOME=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot save the hub: %w\n%s", err, out)
	}
	return nil
}

// restore creates the directory of the hub from a backup file.
func (h *hub) restore(file string) error {
	if out, err := exec.Command(h.program, "hub", "restore", file, "--dir", h.dir()).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot restore the hub: %w\n%s", err, out)
	}
	return nil
}

// poke makes the hub poll the repository now, like the hook of a git server.
func (h *hub) poke(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/v1/hook/site", nil)
	if err != nil {
		return err
	}
	r.Header.Set("X-Gitlab-Token", h.secret)
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DisableKeepAlives: true}}
	answer, err := c.Do(r)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusNoContent {
		return fmt.Errorf("the hook was answered with %s", answer.Status)
	}
	return answer.Body.Close()
}

// reports returns the number of reports that the hub has stored durably since its start.
func (h *hub) reports(ctx context.Context) (float64, error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", h.socket())
		}}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://hub/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	return sample(answer.Body, "fettle_hub_reports_total")
}

// said returns the output of the hub.
func (h *hub) said() string {
	text, _ := os.ReadFile(h.log.Name())
	return string(text)
}

// The ports of hubs are below the ports that the kernel assigns to connections (ip_local_port_range of
// ip(7)). Otherwise one of thousands of agents could use the port of a killed hub.
const firstPort, ports = 20_000, 10_000

// freeAddress returns an address with an unused port.
func freeAddress() (string, error) {
	var last error
	for range 100 {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.N(ports)))
		l, err := net.Listen("tcp", address)
		if err == nil {
			return address, l.Close()
		}
		last = err
	}
	return "", fmt.Errorf("cannot find a free port: %w", last)
}
