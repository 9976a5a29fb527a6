package flood

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/test/gobuild"
)

// hub is a hub process with 1,500 open files and 256 MiB of memory.
type hub struct {
	t                      *testing.T
	dir, program, api, bus string
	pid                    int
	memory                 cgroup
	root                   *client.Client
	said                   bytes.Buffer // complete once the process has ended
}

func (h *hub) run(argv ...string) string {
	h.t.Helper()
	c := exec.CommandContext(h.t.Context(), argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
		"GIT_COMMITTER_EMAIL=a@b", "HOME="+h.dir)
	out, err := c.CombinedOutput()
	if err != nil {
		h.t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit returns the new commit.
func (h *hub) commit(text string) string {
	site := filepath.Join(h.dir, "site")
	top := "policy { rollout = \"at-once\" }\n# " + text + "\n"
	if err := os.WriteFile(filepath.Join(site, "fettle.hcl"), []byte(top), 0o644); err != nil {
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

// start makes a hub, and runs it with its limits until the test ends.
func (h *hub) start() {
	h.program, h.api, h.bus = filepath.Join(h.dir, "fettle"), freePort(h.t), freePort(h.t)
	if err := gobuild.Program(h.program, gobuild.Fettle); err != nil {
		h.t.Fatal(err)
	}
	h.run("git", "init", "-q", "-b", "main", filepath.Join(h.dir, "site"))
	h.commit("first")
	h.run(h.program, "hub", "init", "--fleet", "acme", "--name", "hub1", "--dir", filepath.Join(h.dir, "hub"),
		"--address", "127.0.0.1",
		"--api", h.api, "--bus", h.bus, "--repository", "file://"+filepath.Join(h.dir, "site"), "--poll", "1s")
	h.memory = newCgroup(h.t, 256<<20)
	socket := filepath.Join(h.dir, "socket")
	c := exec.Command("sh", "-c", `echo $$ >"$0" && exec prlimit --nofile=1500:1500 "$@"`, h.memory.procs(),
		h.program, "hub", "run", "--dir", filepath.Join(h.dir, "hub"), "--socket", socket)
	c.Stdout, c.Stderr = &h.said, &h.said
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.pid = c.Process.Pid
	h.t.Cleanup(func() {
		_ = c.Process.Signal(os.Interrupt)
		if err := c.Wait(); err != nil {
			h.t.Errorf("the hub ended with %v", err)
		}
		if h.t.Failed() {
			h.t.Log(h.said.String())
		}
		if n := strings.Count(h.said.String(), "\n"); n > 40 {
			h.t.Errorf("the log has %d lines", n)
		}
	})
	var err error
	if h.root, err = client.New(client.Login{Hub: "unix://" + socket}); err != nil {
		h.t.Fatal(err)
	}
	h.await("the hub", h.answers)
}

func (h *hub) await(name string, is func() error) {
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
func (h *hub) answers() error {
	_, err := client.Authority(h.t.Context(), "https://"+h.api)
	return err
}

// follows awaits a new commit in the mirror of the hub.
func (h *hub) follows(text string) {
	h.t.Helper()
	head := h.commit(text)
	h.await("the commit "+text, func() error {
		mirrors, _ := filepath.Glob(filepath.Join(h.dir, "hub", "mirror", "*"))
		for _, m := range mirrors {
			if exec.Command("git", "--git-dir", m, "cat-file", "-e", head).Run() == nil {
				return nil
			}
		}
		return fmt.Errorf("not in %v", mirrors)
	})
}

// files counts the open files of the hub.
func (h *hub) files() int {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.pid))
	if err != nil {
		h.t.Fatal(err)
	}
	return len(all)
}

// peak returns the largest memory of the hub so far, without pages of files that the kernel keeps.
func (h *hub) peak() (kib int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.pid))
	if err != nil {
		h.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(after, &kib); err != nil {
		h.t.Fatal(err)
	}
	return kib
}
