package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/needs"
)

// idleHub is a hub process that may have few open files.
type idleHub struct {
	t                      *testing.T
	dir, program, api, bus string
	pid                    int
	said                   bytes.Buffer // complete once the process has ended
}

func (h *idleHub) run(argv ...string) string {
	h.t.Helper()
	c := exec.CommandContext(h.t.Context(), argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b", "HOME="+h.dir)
	out, err := c.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit returns the new commit.
func (h *idleHub) commit(text string) string {
	site := filepath.Join(h.dir, "site")
	if err := os.WriteFile(filepath.Join(site, "fettle.hcl"), []byte("# "+text+"\n"), 0o644); err != nil {
		h.t.Fatal(err)
	}
	h.run("git", "-C", site, "add", "-A")
	h.run("git", "-C", site, "commit", "-q", "-m", text)
	return h.run("git", "-C", site, "rev-parse", "HEAD")
}

func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// start makes a hub and runs it with 1,500 descriptors until the test ends.
func (h *idleHub) start() {
	h.program, h.api, h.bus = filepath.Join(h.dir, "fettle"), freePort(h.t), freePort(h.t)
	if err := gobuild.Program(h.program, gobuild.Fettle); err != nil {
		h.t.Fatal(err)
	}
	h.run("git", "init", "-q", "-b", "main", filepath.Join(h.dir, "site"))
	h.commit("first")
	h.run(h.program, "hub", "init", "--fleet", "acme", "--name", "hub1", "--dir", filepath.Join(h.dir, "hub"), "--address", "127.0.0.1",
		"--api", h.api, "--bus", h.bus, "--repository", "file://"+filepath.Join(h.dir, "site"), "--poll", "1s")
	c := exec.Command("prlimit", "--nofile=1500:1500", h.program, "hub", "run", "--dir", filepath.Join(h.dir, "hub"), "--socket", filepath.Join(h.dir, "socket"))
	c.Stdout, c.Stderr = &h.said, &h.said
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.pid = c.Process.Pid
	h.t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		_ = c.Wait()
		if h.t.Failed() {
			h.t.Log(h.said.String())
		}
		if n := strings.Count(h.said.String(), "\n"); n > 40 {
			h.t.Errorf("the log has %d lines", n)
		}
	})
	h.await("the hub", h.answers)
}

func (h *idleHub) await(name string, is func() error) {
	h.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		err := is()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			h.t.Fatalf("%s: %v", name, err)
		}
	}
}

// answers asks the API through a new connection.
func (h *idleHub) answers() error {
	c := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := c.Get("https://" + h.api + "/healthz")
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the API answers %s", answer.Status)
	}
	return nil
}

// socket asks through root's socket.
func (h *idleHub) socket() error {
	c := http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(h.dir, "socket"))
	}}}
	answer, err := c.Get("http://hub/v1/status")
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// flood opens idle connections.
func (h *idleHub) flood(to string, n int) {
	for i := range n {
		c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}, Timeout: time.Minute}).Dial("tcp", to)
		if err != nil {
			h.t.Fatalf("after %d connections: %v", i, err)
		}
		h.t.Cleanup(func() { _ = c.Close() })
	}
}

// With 1,500 descriptors and 2,500 idle connections a hub answers at its API and its socket, and
// follows its repository.
func TestIdleConnectionsOfAProcess(t *testing.T) {
	needs.Program(t, "prlimit")
	h := &idleHub{t: t, dir: t.TempDir()}
	h.start()
	h.flood(h.api, 2000)
	h.flood(h.bus, 500)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.pid))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 1125 {
		t.Errorf("%d of 1500 descriptors are used, of which a quarter is reserved", len(files))
	}
	for name, ask := range map[string]func() error{"the API": h.answers, "the socket": h.socket} {
		if err := ask(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	head := h.commit("second")
	h.await("the new commit", func() error {
		mirrors, _ := filepath.Glob(filepath.Join(h.dir, "hub", "mirror", "*"))
		for _, m := range mirrors {
			if exec.Command("git", "--git-dir", m, "cat-file", "-e", head).Run() == nil {
				return nil
			}
		}
		return fmt.Errorf("not in %v", mirrors)
	})
}
