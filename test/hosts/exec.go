package hosts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Result is how a command on a host ended.
type Result struct {
	// ExitCode is the command's, -1 if a signal ended it or it did not run.
	ExitCode       int
	Stdout, Stderr string
}

// Command returns a command that runs argv on the host as root, in all of its namespaces and with a
// minimal environment. The caller starts it. It is not in the cgroups of the host; use systemd-run
// --pipe --wait for that. It ends with the host, and fails if the host is off.
func (h *Host) Command(ctx context.Context, argv ...string) (*exec.Cmd, error) {
	leader, err := h.leader()
	if err != nil {
		return nil, fmt.Errorf("cannot run %s on %s: %w", argv[0], h.Name, err)
	}
	return enter(ctx, leader, argv), nil
}

// enter returns the command that runs argv beside process leader.
func enter(ctx context.Context, leader int, argv []string) *exec.Cmd {
	args := append([]string{"--target", strconv.Itoa(leader), "--all", "--"}, argv...)
	cmd := exec.CommandContext(ctx, "nsenter", args...)
	cmd.Env = cleanEnv()
	return cmd
}

// Exec runs argv on the host and returns its result.
func (h *Host) Exec(argv ...string) Result { return h.ExecInput(nil, argv...) }

// ExecInput is Exec with stdin read from input.
func (h *Host) ExecInput(input io.Reader, argv ...string) Result {
	cmd, err := h.Command(context.Background(), argv...)
	if err != nil {
		return Result{ExitCode: -1, Stderr: err.Error()}
	}
	return capture(cmd, input)
}

// capture runs cmd and collects what it writes.
func capture(cmd *exec.Cmd, input io.Reader) Result {
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{ExitCode: -1, Stderr: err.Error()}
	}
	return Result{ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// Run runs argv on the host and returns what it wrote to standard output. The
// test fails if the command does.
func (h *Host) Run(t testing.TB, argv ...string) string {
	t.Helper()
	got := h.Exec(argv...)
	if got.ExitCode != 0 {
		t.Fatalf("%s on %s: exit code %d\n%s%s", strings.Join(argv, " "), h.Name, got.ExitCode, got.Stdout, got.Stderr)
	}
	return got.Stdout
}

// offline runs argv in the host's tree when the host is off, on it otherwise.
func (h *Host) offline(input io.Reader, argv ...string) Result {
	if _, err := h.leader(); err == nil {
		return h.ExecInput(input, argv...)
	}
	cmd := exec.Command("chroot", append([]string{h.root()}, argv...)...)
	cmd.Env = cleanEnv()
	return capture(cmd, input)
}

// WriteFile writes a file of the host, on or off, with its directories. An existing
// file is replaced.
func (h *Host) WriteFile(t testing.TB, path, content string, mode os.FileMode) {
	t.Helper()
	h.install(t, strings.NewReader(content), path, mode)
}

// Copy copies the local file to path on the host, with its mode.
func (h *Host) Copy(t testing.TB, local, path string) {
	t.Helper()
	f, err := os.Open(local)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	h.install(t, f, path, info.Mode().Perm())
}

// install writes through a program of the host, so that symbolic links lead
// where they lead there.
func (h *Host) install(t testing.TB, content io.Reader, path string, mode os.FileMode) {
	t.Helper()
	spool := "/.fettle-test-spool"
	got := h.offline(content, "dd", "bs=1M", "status=none", "of="+spool)
	if got.ExitCode == 0 {
		got = h.offline(nil, "install", "-D", "-m", fmt.Sprintf("%04o", mode.Perm()), spool, path)
	}
	if got.ExitCode == 0 {
		got = h.offline(nil, "rm", spool)
	}
	if got.ExitCode != 0 {
		t.Fatalf("cannot write %s on %s: %s", path, h.Name, got.Stderr)
	}
}

// ReadFile returns the content of a file of the host, on or off.
func (h *Host) ReadFile(t testing.TB, path string) string {
	t.Helper()
	got := h.offline(nil, "cat", path)
	if got.ExitCode != 0 {
		t.Fatalf("cannot read %s on %s: %s", path, h.Name, got.Stderr)
	}
	return got.Stdout
}
