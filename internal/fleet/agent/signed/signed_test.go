package signed_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"fettle.dev/fettle/internal/fleet/agent/signed"
	"fettle.dev/fettle/internal/fleet/agent/signed/signedtest"
	"fettle.dev/fettle/internal/fleet/content"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/host/mem"
)

const fleetFile = "fleet-sha256-aa"

// user is a user with a key that hosts trust.
type user struct{ signedtest.User }

func newUser(t *testing.T) user {
	t.Helper()
	u, err := signedtest.NewUser()
	if err != nil {
		t.Fatal(err)
	}
	return user{u}
}

func (u user) sign(t *testing.T, until int64) string {
	t.Helper()
	text, err := content.Command{Fleet: fleetFile, Targets: []string{"web1"}, Call: "command",
		Params: json.RawMessage(`{}`), From: 0, Until: until}.Sign(u.Key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// memory returns the memory of a host whose clock is *now.
func (u user) memory(files host.FS, now *int64) *signed.Memory {
	return &signed.Memory{Files: files, Dir: "/commands", Trust: func() (content.CommandTrust, error) {
		return content.CommandTrust{Signers: u.Signers, Fleets: []string{fleetFile}, Target: "web1", Now: *now}, nil
	}}
}

func fits(content.Command) error { return nil }

// A host executes a signed command once: it refuses a repetition, also after a restart, after a
// power cut, and after its clock was set back. A command that was not executed can be tried again.
func TestSignedCommandsOnce(t *testing.T) {
	u, now := newUser(t), int64(100)
	files := mem.NewFS(mem.Options{})
	text := u.sign(t, 200)
	c, by, err := u.memory(files, &now).Accept(text, fits)
	if err != nil || by != "ann" || c.Call != "command" {
		t.Fatalf("%+v, %s, %v", c, by, err)
	}
	refused := func(m *signed.Memory, want string) {
		t.Helper()
		if c, _, err := m.Accept(text, fits); err == nil || !strings.Contains(err.Error(), want) || c.Params != nil {
			t.Errorf("accepted again: %v", err)
		}
	}
	refused(u.memory(files, &now), "again: this host accepted it before")
	for seed := range uint64(20) {
		refused(u.memory(files.CrashClone(rand.New(rand.NewPCG(seed, 1))), &now), "accepted it before")
	}
	m := u.memory(files, &now)
	if err := m.Release(c); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Accept(text, fits); err != nil {
		t.Errorf("a released command: %v", err)
	}
	refused(m, "accepted it before")

	now = 200
	refused(m, "it was valid until")
	for range 300 { // enough commands that expired ones are removed
		if _, _, err := m.Accept(u.sign(t, 300), fits); err != nil {
			t.Fatal(err)
		}
	}
	names, err := files.ReadDir("/commands")
	if err != nil || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "200-") }) {
		t.Errorf("%q, %v", names, err)
	}
	now = 100
	refused(u.memory(files, &now), "before the clock of this host was set back")
}

// A command that cannot be recorded is not accepted, for each failing disk operation.
func TestUnrememberedCommands(t *testing.T) {
	u, now := newUser(t), int64(100)
	for n := 1; ; n++ {
		plan := &fault.Plan{At: n, Err: errors.New("no space left")}
		_, _, err := u.memory(mem.NewFS(mem.Options{Count: plan.Count}), &now).Accept(u.sign(t, 200), fits)
		switch {
		case plan.Hit() && err == nil:
			t.Errorf("accepted although operation %d failed", n)
		case !plan.Hit() && (err != nil || n < 6):
			t.Errorf("%d operations, %v", n, err)
		}
		if !plan.Hit() {
			return
		}
	}
}

// If several goroutines or processes accept one command at the same time, exactly one succeeds.
func TestSignedCommandsAtTheSameTime(t *testing.T) {
	u, now := newUser(t), int64(100)
	files, text := mem.NewFS(mem.Options{}), u.sign(t, 200)
	m := u.memory(files, &now)
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for range cap(errs) {
		all.Go(func() { _, _, err := m.Accept(text, fits); errs <- err })
	}
	all.Wait()
	close(errs)
	accepted := 0
	for err := range errs {
		if err == nil {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("accepted %d times", accepted)
	}
}

// The memory is limited: beyond the limit no commands are accepted.
func TestFullMemory(t *testing.T) {
	u, now := newUser(t), int64(100)
	files := mem.NewFS(mem.Options{})
	if err := files.Mkdir("/commands", 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 10_000 {
		f, err := files.Create(fmt.Sprintf("/commands/300-%032x", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := u.memory(files, &now).Accept(u.sign(t, 200), fits); err == nil ||
		!strings.Contains(err.Error(), "still valid") {
		t.Error(err)
	}
	now = 300
	if _, _, err := u.memory(files, &now).Accept(u.sign(t, 400), fits); err != nil {
		t.Error(err)
	}
}
