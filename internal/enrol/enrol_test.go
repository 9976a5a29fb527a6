package enrol_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/enrol"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/hint"
)

// host is a host on which programs only have the effects that an enrolment relies on.
type host struct {
	files    map[string]string          // digest by path
	pkg      string                     // version of the installed package, "" for none
	agent    string                     // its status as JSON, "" if it is not enrolled
	fails    string                     // a word of commands that fail
	commands []string                   // that change the host
	input    string                     // of the last command
	hidden   []string                   // of the last command
	enrolled func(argv []string) string // returns the new status of the agent
}

func (h *host) Command(_ context.Context, c executor.Command, _ executor.Options,
	_ func(executor.Output)) (*executor.CommandResult, error) {
	line := strings.Join(slices.Concat(c.Argv...), " ")
	if c.Action != "enrol" || c.Timeout == 0 {
		return nil, fmt.Errorf("a command without its action or a limit: %s", line)
	}
	if c.ReadOnly {
		return h.ask(line), nil
	}
	h.commands, h.input, h.hidden = append(h.commands, line), string(c.Stdin), c.Hide
	res := &executor.CommandResult{}
	switch {
	case h.fails != "" && strings.Contains(line, h.fails):
		res.Exit, res.Stderr = 7, strings.Repeat("x", 600)+" no space"
	case strings.Contains(line, "apt-get install"):
		h.pkg = "2"
	case strings.Contains(line, "--token-file"):
		h.agent = h.enrolled(c.Argv[0])
		res.Stdout = h.agent
	}
	return res, nil
}

// ask runs a program that changes nothing.
func (h *host) ask(line string) *executor.CommandResult {
	switch {
	case strings.HasPrefix(line, "dpkg-query") && h.pkg != "":
		return &executor.CommandResult{Stdout: "installed " + h.pkg}
	case strings.HasSuffix(line, "agent status --json") && h.agent != "":
		return &executor.CommandResult{Stdout: h.agent}
	}
	return &executor.CommandResult{Exit: 1}
}

func (h *host) Put(_ context.Context, f executor.File, from func() (io.ReadCloser, error),
	_ executor.Options) (*executor.PutResult, error) {
	r, err := from()
	if err != nil {
		return nil, err
	}
	changed := h.files[f.Path] != f.Digest
	h.files[f.Path] = f.Digest
	return &executor.PutResult{Changed: changed}, r.Close()
}

// hub has one target at most, whose agent connects after some questions.
type hub struct {
	target  document.Target
	absent  int // questions before the agent is connected
	tokens  []document.TokenRequest
	revoked []string
}

func (h *hub) CreateToken(_ context.Context, r document.TokenRequest) (document.NewToken, error) {
	h.tokens = append(h.tokens, r)
	return document.NewToken{Token: document.Token{ID: "k1"}, Secret: "secret"}, nil
}

func (h *hub) RevokeToken(ctx context.Context, id string) error {
	if ctx.Err() == nil {
		h.revoked = append(h.revoked, id)
	}
	return ctx.Err()
}

func (h *hub) Target(_ context.Context, id fleet.TargetID) (document.TargetDetail, error) {
	if h.target.ID != id {
		return document.TargetDetail{}, &document.Problem{Status: http.StatusNotFound}
	}
	h.absent--
	t := h.target
	t.Connected = h.absent < 0
	return document.TargetDetail{Target: t}, nil
}

// newFleet returns a fleet with a binary to install, and a host without fettle that can join it as web1.
func newFleet() (enrol.Fleet, *hub, *host) {
	binary, err := enrol.Binary()
	if err != nil {
		panic(err)
	}
	hb := &hub{}
	h := &host{files: map[string]string{}, enrolled: func([]string) string {
		hb.target = document.Target{ID: "t1", Name: "web1", Standing: fleet.Active}
		return `{"id":"t1","fleet":"f1"}`
	}}
	return enrol.Fleet{Hub: hb, URL: "https://hub:7440", Install: binary, Within: time.Minute}, hb, h
}

// web1 is a host in this form.
func web1(h *host) enrol.Host {
	return enrol.Host{Name: "web1", Labels: map[string]string{"role": "web"}, Arch: runtime.GOARCH, Access: h}
}

// last returns the last command on a host, with which an enrolment starts the agent.
func (h *host) last() string {
	if len(h.commands) == 0 {
		return ""
	}
	return h.commands[len(h.commands)-1]
}

// ExampleFleet_Enrol enrols a host, and then again.
func ExampleFleet_Enrol() {
	f, _, h := newFleet()
	for range 2 {
		r, err := f.Enrol(context.Background(), web1(h))
		fmt.Println(r, err)
	}
	// Output:
	// enrolled with this binary in /usr/bin/fettle <nil>
	// enrolled before, as web1 <nil>
}

// TestNewHost: binary, units and agent are there, and the token is only for this host.
func TestNewHost(t *testing.T) {
	f, hb, h := newFleet()
	r, err := f.Enrol(t.Context(), web1(h))
	if err != nil || !r.New || !r.Changed() {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, path := range []string{"/usr/bin/fettle", "/usr/lib/systemd/system/fettle-agent.service"} {
		if h.files[path] == "" {
			t.Errorf("%s is missing", path)
		}
	}
	tok := hb.tokens[0]
	if len(hb.tokens) != 1 || tok.Names != "web1" || tok.Uses != 1 || tok.Labels["role"] != "web" || tok.Expires == 0 {
		t.Errorf("tokens: %+v", hb.tokens)
	}
	want := "/usr/bin/fettle agent enrol --hub https://hub:7440 --token-file - --name web1 --json"
	if h.commands[0] != want {
		t.Errorf("enrolled with %q", h.commands[0])
	}
	if !strings.HasSuffix(h.last(), "restart fettle-agent.service") {
		t.Errorf("started with %q", h.last())
	}
}

// TestTokenIsMasked: the token is only in the input of the command, and masked in records.
func TestTokenIsMasked(t *testing.T) {
	f, _, h := newFleet()
	h.fails = "--token-file"
	if _, err := f.Enrol(t.Context(), web1(h)); err == nil {
		t.Fatal("enrolled")
	}
	if h.input != "secret\n" || !slices.Equal(h.hidden, []string{"secret"}) || strings.Contains(h.last(), "secret") {
		t.Errorf("input %q, masked %q, command %q", h.input, h.hidden, h.last())
	}
}

// TestFailedEnrolment: the unused token is revoked, also after an interruption, and the error ends with the
// output.
func TestFailedEnrolment(t *testing.T) {
	f, hb, h := newFleet()
	h.fails = "--token-file"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := f.Enrol(ctx, web1(h))
	if err == nil || !strings.HasPrefix(err.Error(), "cannot enrol it: it ended with 7: …xxx") ||
		!strings.HasSuffix(err.Error(), "x no space") || len(err.Error()) > 600 {
		t.Errorf("%v", err)
	}
	if !slices.Equal(hb.revoked, []string{"k1"}) {
		t.Errorf("revoked: %q", hb.revoked)
	}
}

// TestEnrolledHost: a target of the fleet gets no token, and its running agent is not restarted.
func TestEnrolledHost(t *testing.T) {
	f, hb, h := newFleet()
	if _, err := f.Enrol(t.Context(), web1(h)); err != nil {
		t.Fatal(err)
	}
	r, err := f.Enrol(t.Context(), web1(h))
	if err != nil || r.Changed() || len(hb.tokens) != 1 {
		t.Errorf("%+v, %v, %d tokens", r, err, len(hb.tokens))
	}
	if !strings.HasSuffix(h.last(), "systemctl start fettle-agent.service") {
		t.Errorf("started with %q", h.last())
	}
	f.Adopt = true
	r, err = f.Enrol(t.Context(), web1(h))
	if err != nil || !r.Adopted || r.String() != "enrolled before; its agent replaces the applied state" {
		t.Errorf("%+v, %v", r, err)
	}
	if !strings.HasSuffix(h.last(), "systemctl restart fettle-agent.service") {
		t.Errorf("started with %q after it adopts", h.last())
	}
	h.files["/usr/bin/fettle"] = "older"
	if r, err = f.Enrol(t.Context(), web1(h)); !r.Installed || r.New || err != nil {
		t.Errorf("with another binary: %+v, %v", r, err)
	}
}

// TestRetiredHost: a host that was a target enrols again.
func TestRetiredHost(t *testing.T) {
	for _, standing := range []fleet.Standing{fleet.Retired, fleet.Revoked} {
		f, hb, h := newFleet()
		hb.target = document.Target{ID: "t0", Name: "web1", Standing: standing}
		h.agent = `{"id":"t0","fleet":"f1"}`
		r, err := f.Enrol(t.Context(), web1(h))
		if err != nil || !r.New || !strings.HasSuffix(h.commands[0], " --again") {
			t.Errorf("%s: %+v, %v: %q", standing, r, err, h.commands)
		}
	}
}

// TestRefusedHosts: hosts of another fleet, or with another name, and binaries of another architecture.
func TestRefusedHosts(t *testing.T) {
	cases := map[string]struct {
		change     func(hb *hub, h *host, to *enrol.Host)
		text, hint string
	}{
		"another fleet": {func(_ *hub, h *host, _ *enrol.Host) { h.agent = `{"id":"t9","fleet":"other"}` },
			`cannot enrol it: it is a target of the fleet "other", but not of this hub`, "--again"},
		"another name": {func(hb *hub, h *host, _ *enrol.Host) {
			h.agent, hb.target = `{"id":"t2"}`, document.Target{ID: "t2", Name: "db1", Standing: fleet.Active}
		}, "cannot enrol it: it is already in the fleet, as db1", "fettle target retire db1"},
		"another architecture": {func(_ *hub, _ *host, to *enrol.Host) { to.Arch = "riscv64" },
			"the architecture of the host is riscv64", "--package FILE"},
		"an unreadable status": {func(_ *hub, h *host, _ *enrol.Host) { h.agent = "{" },
			"cannot read the status of its agent", ""},
	}
	for name, c := range cases {
		f, hb, h := newFleet()
		to := web1(h)
		c.change(hb, h, &to)
		_, err := f.Enrol(t.Context(), to)
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
		if text, _ := hint.Of(err); !strings.Contains(text, c.hint) {
			t.Errorf("%s: the hint is %q", name, text)
		}
		if len(h.commands) > 0 {
			t.Errorf("%s: the host was changed: %q", name, h.commands)
		}
	}
}

// TestHostWithPackage: it keeps the package, whatever its architecture.
func TestHostWithPackage(t *testing.T) {
	f, _, h := newFleet()
	h.pkg = "1"
	to := web1(h)
	to.Arch = "riscv64"
	r, err := f.Enrol(t.Context(), to)
	if err != nil || len(h.files) > 0 || r.With != "the package 1 that was installed" {
		t.Errorf("%+v, %v, %v", r, err, h.files)
	}
}

// TestInstallPackage: apt installs it, and only another version is a change.
func TestInstallPackage(t *testing.T) {
	f, _, h := newFleet()
	file := filepath.Join(t.TempDir(), "fettle_2_amd64.deb")
	if err := os.WriteFile(file, []byte("package"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if f.Install, err = enrol.Package(file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{true, false} {
		r, err := f.Enrol(t.Context(), web1(h))
		if err != nil || r.Installed != want || r.With != "the package fettle_2_amd64.deb" {
			t.Errorf("%+v, %v", r, err)
		}
	}
	if _, err := enrol.Package(file + ".other"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing package: %v", err)
	}
}

// TestWaitForConnection: it ends with the connection of the agent, or at its limit.
func TestWaitForConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, hb, h := newFleet()
		hb.absent = 5
		if _, err := f.Enrol(t.Context(), web1(h)); err != nil || hb.absent >= 0 {
			t.Errorf("it did not wait: %v, %d questions left", err, hb.absent)
		}
		hb.absent = 1 << 30
		_, err := f.Enrol(t.Context(), web1(h))
		if err == nil || !strings.Contains(err.Error(), "did not connect to the hub within 1m0s") {
			t.Errorf("%v", err)
		}
		if text, _ := hint.Of(err); !strings.Contains(text, "journalctl -u fettle-agent") {
			t.Errorf("the hint is %q", text)
		}
	})
}
