package hub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/compile/limited"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/test/sample"
)

// childEnv contains the childHub that this process runs instead of tests.
const childEnv = "FETTLE_TEST_HUB_CHILD"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == compileChild {
		if err := limited.Child(os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if child := os.Getenv(childEnv); child != "" {
		os.Exit(runChild(child))
	}
	os.Exit(m.Run())
}

// childHub is a hub that runs as a process, which can be stopped by a signal.
type childHub struct{ Dir, Socket string }

// runChild runs a hub until it is interrupted. It prints "ready" when agents are served.
func runChild(text string) int {
	var c childHub
	files, err := local.Open("/", local.Options{})
	if err := errors.Join(err, json.Unmarshal([]byte(text), &c)); err != nil {
		fmt.Println(err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err = hub.Run(ctx, hub.Config{
		Files: files, Dir: c.Dir, Compile: compiler{}, Comparer: compareInChild, Now: time.Now,
		Socket: c.Socket, Free: freeAt,
		Listen: func(s string) (net.Listener, error) { return net.Listen("unix", s) },
		Warn:   func(text string) { fmt.Println("warn:", text) },
		Ready:  func(net.Addr, net.Addr) { fmt.Println("ready") },
	})
	if err != nil {
		fmt.Println("ended:", err)
		return 1
	}
	return 0
}

// output is the output of a child.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// child is the process of a hub.
type child struct {
	*one
	*exec.Cmd
	said  output
	ended chan struct{}
}

// joinApart creates another hub of the fleet, and runs it as a process.
func (w *several) joinApart(name string) *child {
	w.t.Helper()
	api, err := w.joined(name)
	if err != nil {
		w.t.Fatal(name, err, w.hubs[0].warn)
	}
	c := &child{one: &one{w: w, name: name, api: api}}
	c.begin()
	w.t.Cleanup(func() {
		c.kill()
		if w.t.Failed() {
			w.t.Log(name, "said:\n", c.said.String())
		}
	})
	return c
}

// begin starts the process.
func (c *child) begin() {
	t := c.w.t
	t.Helper()
	text, err := json.Marshal(childHub{Dir: c.dir(), Socket: c.socket()})
	if err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(c.socket()) // of a process that was killed
	cmd, ended := exec.Command(os.Args[0]), make(chan struct{})
	c.Cmd, c.ended = cmd, ended
	c.Env = append(os.Environ(), childEnv+"="+string(text))
	c.Stdout, c.Stderr = &c.said, &c.said
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	before := strings.Count(c.said.String(), "ready\n")
	if err := c.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(ended); _ = cmd.Wait() }()
	until(t, c.name+" is ready", func() (string, bool) {
		s := c.said.String()
		return s, strings.Count(s, "ready\n") > before
	})
}

// kill ends the process at once.
func (c *child) kill() {
	_ = c.Process.Kill()
	<-c.ended
}

// freeze stops the process, as the kernel does with a signal: its connections stay open.
func (c *child) freeze(t *testing.T) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, "the process is stopped", func() (string, bool) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
		_, state, _ := strings.Cut(string(text), ") ")
		return state, err == nil && strings.HasPrefix(state, "T")
	})
}

// thaw continues a stopped process.
func (c *child) thaw(t *testing.T) {
	t.Helper()
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}

// Two of three hubs hang, and the third answers each route of the table. Connections to a hanging
// hub stay open. Before the hub has noticed this, the result of a change is unknown instead of
// failed. Afterwards the hub refuses changes.
func TestEachRouteWithFrozenHubs(t *testing.T) {
	sample.Group(t, 3, 11)
	t.Parallel()
	w := newSeveral(t)
	second := w.joinApart("hub2")
	w.kept(w.hubs[0], 2)
	third := w.joinApart("hub3")
	w.kept(w.hubs[0], 3)
	a := w.prepared()
	second.freeze(t)
	third.freeze(t)
	var hubs document.HubPage
	a.must("GET", "/v1/hubs", nil, &hubs)
	for _, h := range hubs.Hubs {
		if h.Reachable != (h.Name == "hub1") || hubs.ToleratedFailures != 0 {
			t.Errorf("the list of hubs does not show that two are frozen: %+v", hubs)
		}
	}
	t.Run("at once", func(t *testing.T) {
		var unknown atomic.Int32
		a.judge = func(r route.Row, _ bool, status int, text string) error {
			switch {
			case !r.Changes():
				return nil
			case status == http.StatusOK:
				return errors.New("has changed something without most hubs")
			case strings.Contains(text, "The result is unknown"):
				unknown.Add(1)
				fallthrough
			case status >= http.StatusInternalServerError && !r.Upgrade:
				if !namesBoth(errText(text)) {
					return errors.New("does not name the missing hubs")
				}
			}
			return nil
		}
		a.walk(t)
		if n := unknown.Load(); n < 10 {
			t.Errorf("only %d routes waited for the store", n)
		}
	})
	until(t, "hub1 notices both", func() (error, bool) {
		err := a.refusal()
		return err, namesBoth(err) && strings.Contains(err.Error(), "409")
	})
	t.Run("later", func(t *testing.T) {
		a.judge = withoutQuorum
		a.walk(t)
	})
}

// freeAt returns the free and the total bytes of the file system of a directory.
func freeAt(dir string) (free, all uint64, err error) {
	var st syscall.Statfs_t
	err = syscall.Statfs(dir, &st)
	return st.Bavail * uint64(st.Bsize), st.Blocks * uint64(st.Bsize), err
}
