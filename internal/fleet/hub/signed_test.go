package hub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent"
	"fettle.dev/fettle/internal/fleet/agent/signed"
	"fettle.dev/fettle/internal/fleet/agent/signed/signedtest"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/journal"
)

// strictHost is a host that accepts only signed commands. It counts what it executes.
type strictHost struct {
	executor.Executor
	memory *signed.Memory

	mu  sync.Mutex
	ran []string
}

func newStrictHost(u signedtest.User, fleetFile, target string) *strictHost {
	return &strictHost{memory: &signed.Memory{Files: mem.NewFS(mem.Options{}), Dir: "/commands",
		Trust: func() (content.CommandTrust, error) {
			return content.CommandTrust{Signers: u.Signers, Fleets: []string{fleetFile}, Target: target,
				Now: time.Now().Unix()}, nil
		}}}
}

func (h *strictHost) Command(_ context.Context, c executor.Command, _ executor.Options,
	_ func(executor.Output)) (*executor.CommandResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ran = append(h.ran, strings.Join(c.Argv[0], " "))
	return &executor.CommandResult{ID: len(h.ran)}, nil
}

func (h *strictHost) Commands(context.Context) ([]journal.Command, error) { return nil, nil }

func (h *strictHost) executed() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.ran, ", ")
}

func (h *strictHost) serve(ctx context.Context, _ []byte, stream io.ReadWriteCloser) {
	_ = wire.Serve(ctx, stream, wire.Served{
		ReadOnly: true, Refused: agent.SignedCommands.Refuses(), Now: time.Now,
		Accept: func(text string) (wire.Accepted, error) { return agent.AcceptCall(h.memory, text) },
		Open: func(context.Context, bool) (executor.Executor, func() error, error) {
			return h, func() error { return nil }, nil
		},
	})
}

// signer signs calls for a target.
func signer(u signedtest.User, fleetFile, target string) func(string, []byte) (string, error) {
	return func(call string, params []byte) (string, error) {
		now := time.Now().Unix()
		return content.Command{Fleet: fleetFile, Targets: []string{target}, Call: call, Params: params, From: now - 60,
			Until: now + 600}.Sign(u.Key)
	}
}

// recorded is a stream whose written bytes are kept, as a hub can keep them.
type recorded struct {
	io.ReadWriteCloser
	sent *bytes.Buffer
}

func (r recorded) Write(p []byte) (int, error) {
	r.sent.Write(p)
	return r.ReadWriteCloser.Write(p)
}

func newSigner(t *testing.T) signedtest.User {
	t.Helper()
	u, err := signedtest.NewUser()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A hub delivers signed commands and signed jobs unchanged.
func TestSignedCommandsThroughAHub(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "\n"})
	w.birth()
	w.start()
	u := newSigner(t)
	web1 := w.sharer("web1", nil)
	h := newStrictHost(u, "fleet-sha256-aa", "web1")
	if err := web1.link.ServeStreams(fleet.MessageExecutor, h.serve); err != nil {
		t.Fatal(err)
	}
	asked := web1.takes()
	ann := w.user("ann", "operate")
	until(t, "the target", func() (any, bool) {
		d, err := client.GetAt(t.Context(), ann, route.Target(), route.TargetName{Target: "web1"})
		return d, err == nil && d.Target.Connected
	})
	stream, err := ann.Executor(t.Context(), "web1", true, "run")
	if err != nil {
		t.Fatal(err)
	}
	x, err := wire.Dial(t.Context(), stream, wire.Options{Sign: signer(u, "fleet-sha256-aa", "web1")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Command(t.Context(), executor.Command{Argv: [][]string{{"uptime"}}}, executor.Options{},
		nil); err != nil || h.executed() != "uptime" {
		t.Errorf("%q, %v", h.executed(), err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	run := &fleet.Command{Argv: []string{"uptime", "<&>"}, User: "www"}
	params, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signer(u, "fleet-sha256-aa", "web1")(content.JobCall, params)
	if err != nil {
		t.Fatal(err)
	}
	w.ask("POST", "/v1/jobs", document.JobRequest{What: fleet.JobRun, Select: []string{"web1"}, Run: run, Signed: text},
		&document.Job{})
	job := <-asked
	if a, err := agent.AdmitJob(agent.SignedCommands, nil, h.memory, job); err != nil || a.Signer != "ann" ||
		job.Signed != text {
		t.Errorf("%+v, %v", a, err)
	}
}

// A hub that stores the bytes of a signed command cannot execute it again, on this host or on
// another one, and cannot change any byte of it.
func TestHostileHubReplaysCommands(t *testing.T) {
	u := newSigner(t)
	h := newStrictHost(u, "fleet-sha256-aa", "web1")
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); h.serve(context.Background(), nil, far) }()
	sent := &bytes.Buffer{}
	x, err := wire.Dial(t.Context(), recorded{near, sent}, wire.Options{Sign: signer(u, "fleet-sha256-aa", "web1")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Command(t.Context(), executor.Command{Argv: [][]string{{"reboot"}}}, executor.Options{},
		nil); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	<-served
	again := newStrictHost(u, "fleet-sha256-aa", "web1")
	again.memory = h.memory // the same host after a restart
	for name, host := range map[string]*strictHost{"the same host": again,
		"another target": newStrictHost(u, "fleet-sha256-aa", "db1"),
		"another fleet":  newStrictHost(u, "fleet-sha256-bb", "web1")} {
		if replay(t, host, sent.Bytes()); host.executed() != "" {
			t.Errorf("%s executes %s", name, host.executed())
		}
	}
	control := newStrictHost(u, "fleet-sha256-aa", "web1") // the bytes are complete
	if replay(t, control, sent.Bytes()); control.executed() != "reboot" {
		t.Errorf("a host that has not executed it executes %q", control.executed())
	}
	fresh := newStrictHost(u, "fleet-sha256-aa", "web1")
	for i := 0; i < sent.Len(); i += 7 {
		altered := bytes.Clone(sent.Bytes())
		altered[i] ^= 1
		// A byte that only the frames around the command contain may change without effect.
		if replay(t, fresh, altered); fresh.executed() != "" && fresh.executed() != "reboot" {
			t.Fatalf("with byte %d changed: %s", i, fresh.executed())
		}
	}
	other := newStrictHost(newSigner(t), "fleet-sha256-aa", "web1")
	if replay(t, other, sent.Bytes()); other.executed() != "" {
		t.Errorf("a host that trusts another key executes %s", other.executed())
	}
}

// replay sends recorded bytes to a host, and waits for its answers.
func replay(t *testing.T, h *strictHost, kept []byte) {
	t.Helper()
	near, far := net.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); h.serve(context.Background(), nil, far) }()
	read := make(chan struct{})
	go func() { defer close(read); _, _ = io.Copy(io.Discard, near) }()
	if _, err := near.Write(kept); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	_ = near.Close()
	<-served
	<-read
}
