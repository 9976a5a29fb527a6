package agent_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/local"
	"fettle.dev/fettle/internal/fact"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
)

const target = fleet.TargetID("aaaaaaaaaaaaaaaaaaaaaaaaaa")

// hub simulates a hub and the connection to it.
type hub struct {
	mu       sync.Mutex
	handlers map[string]func(context.Context, []byte) ([]byte, error)
	change   func(bool)
	up       bool
	newest   []byte
	reports  []fleet.Report
	last     fleet.Report // the newest report, in full
	since    []uint64     // of the received reports
	old      bool         // it does not support partial reports
	told     chan struct{}
	trees    map[string]repo.Tree
	ended    []fleet.JobAnswer // jobs whose results arrived
	deaf     bool              // it refuses results
	authors  map[string]string // by commit
}

func newHub() *hub {
	return &hub{handlers: map[string]func(context.Context, []byte) ([]byte, error){}, told: make(chan struct{}, 1000),
		trees: map[string]repo.Tree{}}
}

func (h *hub) Ask(_ context.Context, word string, body []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.up {
		return nil, fleet.ErrNoHub
	}
	switch word {
	case fleet.MessageAssignment:
		return h.newest, nil
	case fleet.MessageJobAnswer:
		body, err := new(fleet.Decompressor).Decompress(body, 1<<20)
		var d fleet.JobAnswer
		if err = errors.Join(err, json.Unmarshal(body, &d)); err != nil || h.deaf {
			return nil, errors.Join(err, fleet.ErrNoHub)
		}
		h.ended = append(h.ended, d)
		h.told <- struct{}{}
	case fleet.MessageReport:
		body, err := new(fleet.Decompressor).Decompress(body, fleet.MaxReport)
		if err != nil {
			return nil, err
		}
		r, err := fleet.ParseReport(body)
		if err != nil {
			return nil, err
		}
		if r, err = h.whole(r); err != nil {
			return nil, err
		}
		h.reports = append(h.reports, r)
		h.told <- struct{}{}
	}
	return nil, nil
}

// whole returns the full report, even if only a part was received.
func (h *hub) whole(r fleet.Report) (fleet.Report, error) {
	h.since = append(h.since, r.Since)
	if r.Since > 0 {
		if h.last.Seq != r.Since || h.old {
			return r, errors.New("cannot take a part")
		}
		all := slices.Clone(h.last.Status.Modules)
		for _, m := range r.Status.Modules {
			all[slices.IndexFunc(all, func(o fleet.ModuleStatus) bool { return o.Module == m.Module })] = m
		}
		r.Status.Modules = all
	}
	h.last = r
	return r, nil
}

func (h *hub) Tell(string, []byte) error { return nil }

func (h *hub) Serve(word string, handle func(context.Context, []byte) ([]byte, error)) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers[word] = handle
	return nil
}

// handler is the agent's handler of a message; nil: it has none.
func (h *hub) handler(word string) func(context.Context, []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.handlers[word]
}

func (h *hub) ServeStreams(string, func(context.Context, []byte, io.ReadWriteCloser)) error {
	return nil
}

func (h *hub) Changes(each func(bool)) {
	h.mu.Lock()
	h.change = each
	up := h.up
	h.mu.Unlock()
	if up {
		each(true)
	}
}

func (h *hub) Close() error { return nil }

func (h *hub) connect(up bool) {
	h.mu.Lock()
	h.up = up
	change := h.change
	h.mu.Unlock()
	if change != nil {
		change(up)
	}
}

// heard waits for a matching report.
func (h *hub) heard(t *testing.T, what string, fits func(fleet.Report) bool) fleet.Report {
	t.Helper()
	late := time.After(time.Minute)
	for from := 0; ; {
		h.mu.Lock()
		for ; from < len(h.reports); from++ {
			if fits(h.reports[from]) {
				r := h.reports[from]
				h.reports = h.reports[from+1:]
				h.mu.Unlock()
				return r
			}
		}
		h.mu.Unlock()
		select {
		case <-h.told:
		case <-late:
			h.mu.Lock()
			for _, r := range h.reports {
				t.Logf("%+v", r)
			}
			t.Fatalf("no report of %s", what)
		}
	}
}

// isReady reports whether a report says that all is ready.
func isReady(r fleet.Report) bool {
	return r.Event.Kind == fleet.Ready || strings.HasSuffix(r.Event.Text, "all is ready")
}

func kind(k fleet.EventKind) func(fleet.Report) bool {
	return func(r fleet.Report) bool { return r.Event.Kind == k }
}

// part makes a bundle of files.
func (h *hub) part(module string, files map[string]string) fleet.Assigned {
	b, _ := json.Marshal(files)
	sum := sha256.Sum256(append(b, module...))
	digest := "sha256:" + hex.EncodeToString(sum[:])
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trees[digest] = repo.MapTree(files)
	return fleet.Assigned{Module: module, Revision: fleet.Revision{Repository: "site", Commit: strings.Repeat("c", 40),
		Subject: "a commit"}, Bundle: fleet.Bundle{Digest: digest}}
}

// assign gives the target its next assignment.
func (h *hub) assign(generation uint64, top map[string]string, modules ...fleet.Assigned) []byte {
	return h.assignTop(generation, h.part("", top), modules...)
}

func (h *hub) assignTop(generation uint64, top fleet.Assigned, modules ...fleet.Assigned) []byte {
	a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: target, Name: "web1", Epoch: 1, Generation: generation,
		Root: top, Modules: modules}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.newest = a.Marshal()
	return h.newest
}

// Fetch, Tree and Retain implement agent.Content.
func (h *hub) Fetch(_ context.Context, a fleet.Assignment) error {
	for _, as := range append([]fleet.Assigned{a.Root}, a.Modules...) {
		if strings.Contains(as.Revision.Subject, "unsigned") {
			return fmt.Errorf("%w: nobody signed it", agent.ErrNever)
		}
	}
	return nil
}

func (h *hub) Tree(a fleet.Assignment, absent []string) (repo.Tree, func() error, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]string{}
	for _, as := range append([]fleet.Assigned{a.Root}, a.Modules...) {
		t := h.trees[as.Bundle.Digest]
		err := repo.Walk(t, ".", func(e repo.Entry) error {
			if e.Type != repo.File {
				return nil
			}
			text, err := t.ReadFile(e.Path)
			all[strings.TrimPrefix(as.Module+"/"+e.Path, "/")] = string(text)
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, dir := range absent {
		all[dir+"/module.hcl"] = ""
	}
	return repo.MapTree(all), func() error { return nil }, nil
}

func (h *hub) Retain([]string) error { return nil }

// node is a host with an agent.
type node struct {
	t    *testing.T
	host *mem.Host
	disk *mem.FS
	st   *mem.Host
	hub  *hub
	poke chan struct{}           // changes that the watch reports
	runs chan string             // started programs
	says chan host.CommandResult // their exit codes
	stop func()

	admit func(fleet.Job) (agent.Admission, error) // admission of jobs; nil: all are admitted

	scopes  query.Scopes                 // of the repository
	reads   atomic.Int32                 // how often they were read
	probes  sync.Map                     // the reason for which the unit of a condition is not active
	command atomic.Pointer[host.Command] // the newest

	adopt atomic.Bool // the agent adopts the host; reset after that
}

// binary simulates each program: it ends with the code of the test, or when it is killed.
func (n *node) binary(ctx context.Context, _ *mem.Host, c host.Command) (host.CommandResult, error) {
	if c.Argv[0] == "/bin/false" {
		return host.CommandResult{ExitCode: 1}, nil
	}
	n.command.Store(&c)
	n.runs <- strings.Join(c.Argv, " ")
	select {
	case r := <-n.says:
		return r, nil
	case <-ctx.Done():
		return host.CommandResult{ExitCode: -1, Signal: "killed"}, ctx.Err()
	}
}

func newNode(t *testing.T) *node {
	n := &node{t: t, says: make(chan host.CommandResult), runs: make(chan string, 100)}
	n.host, n.disk, n.st, n.hub, n.poke = mem.New(mem.Options{Run: n.binary}), mem.NewFS(mem.Options{}),
		mem.New(mem.Options{}), newHub(), make(chan struct{})
	for _, dir := range []string{"/etc", "/var", "/var/lib"} {
		if err := n.host.Mkdir(dir, 0o755); err != nil && !strings.Contains(err.Error(), "exist") {
			t.Fatal(err)
		}
	}
	for p, text := range map[string]string{"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "/etc/group": "root:x:0:\n"} {
		n.write(p, text)
	}
	return n
}

func (n *node) write(p, text string) {
	n.t.Helper()
	_ = n.host.Remove(p)
	f, err := n.host.Create(p)
	if err == nil {
		_, err = f.Write([]byte(text))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) read(p string) string {
	f, err := n.host.Open(p)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, _ := io.ReadAll(f)
	return string(b)
}

// Watch and Run implement agent.Watcher.
func (n *node) Watch(agent.Managed) error { return nil }

func (n *node) Run(ctx context.Context, touched func()) error {
	for {
		select {
		case <-n.poke:
			touched()
		case <-ctx.Done():
			return nil
		}
	}
}

func (n *node) engine(context.Context) (executor.Executor, func() error, error) {
	x, err := local.New(n.host, n.st, local.Options{Ballast: -1,
		Guard: func(context.Context, time.Time) error { return nil }})
	return x, func() error { return nil }, err
}

func (n *node) start() {
	n.t.Helper()
	dir, err := durable.Open(n.disk, "/agent")
	if err != nil {
		n.t.Fatal(err)
	}
	a, err := agent.New(agent.Config{
		Machine: machine.Config{Target: target, Version: "1", Boot: "b"}, Dir: dir, Link: n.hub, Content: n.hub, Watcher: n,
		Now:    time.Now,
		Verify: func(b []byte) (fleet.Assignment, error) { return fleet.ParseAssignment(b) },
		Warn:   func(text string) { n.t.Log(text) },
		Runner: &agent.Runner{
			Open: n.engine, Compile: compile.Compile, Call: callAction, Content: n.hub, Now: time.Now,
			Contact: func(context.Context) error { return nil }, MayArm: true,
			Scopes: agent.Scopes{Read: n.readScopes, Test: n.test, VerifyFor: time.Second,
				Memory: &checks.Memory{Files: n.disk, File: "/agent/checks.json"},
				Undos:  &agent.Undos{Files: n.disk, File: "/agent/task-undos.json"}},
			Admit: n.admit, MayAdopt: n.adopt.Load, OnAdopted: func() { n.adopt.Store(false) },
			Facts: func(ctx context.Context) (map[string]cty.Value, error) { return fact.Gather(ctx, n.host, nil) },
		},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	n.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			n.t.Error(err)
		}
	})
	n.t.Cleanup(n.stop)
}
