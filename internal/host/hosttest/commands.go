package hosttest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host"
)

func (s suite) commands(t *testing.T) {
	h := s.traits.Machine(t)
	run := func(t *testing.T, c host.Command) host.CommandResult {
		t.Helper()
		res, err := h.Run(t.Context(), c)
		must(t, err)
		return res
	}
	t.Run("Result", func(t *testing.T) {
		res := run(t, host.Command{Argv: []string{"sh", "-c", "echo out; echo err >&2; exit 7"}})
		if res.ExitCode != 7 || string(res.Stdout) != "out\n" || string(res.Stderr) != "err\n" || res.TimedOut {
			t.Errorf("got %+v", res)
		}
	})
	t.Run("Environment", func(t *testing.T) {
		t.Setenv("SECRET_OF_THE_CALLER", "1")
		out := string(run(t, host.Command{Argv: []string{"env"}, Env: []string{"MINE=x y"}}).Stdout)
		if strings.Contains(out, "SECRET_OF_THE_CALLER") || !strings.Contains(out, "MINE=x y\n") ||
			!strings.Contains(out, "LANG=C.UTF-8\n") || !strings.Contains(out, "HOME=") {
			t.Errorf("environment: %s", out)
		}
	})
	t.Run("Streams", func(t *testing.T) {
		if res := run(t, host.Command{Argv: []string{"cat"}, Stdin: []byte("in")}); string(res.Stdout) != "in" {
			t.Errorf("stdin was echoed as %q", res.Stdout)
		}
		if res := run(t, host.Command{Argv: []string{"cat"}}); len(res.Stdout) != 0 || res.ExitCode != 0 {
			t.Errorf("no stdin gave %+v", res)
		}
		if res := run(t, host.Command{Argv: []string{"pwd"}, Dir: "/usr"}); string(res.Stdout) != "/usr\n" {
			t.Errorf("pwd is %q", res.Stdout)
		}
	})
	t.Run("Missing", func(t *testing.T) {
		for _, argv := range [][]string{{"no-such-program"}, {"/no/such"}, {"/etc/passwd"}, {}} {
			if _, err := h.Run(t.Context(), host.Command{Argv: argv}); err == nil {
				t.Errorf("%q ran", argv)
			}
		}
	})
	t.Run("Cap", func(t *testing.T) { outputCap(t, run) })
	t.Run("Timeout", func(t *testing.T) { s.timeout(t, h) })
	t.Run("Cancel", func(t *testing.T) { s.cancel(t, h) })
	t.Run("Daemon", func(t *testing.T) { s.daemon(t, h) })
	t.Run("User", func(t *testing.T) { s.user(t, h) })
}

func outputCap(t *testing.T, run func(*testing.T, host.Command) host.CommandResult) {
	const mib = 1 << 20
	res := run(t, host.Command{Argv: []string{"sh", "-c", "echo begin; head -c 3000000 /dev/zero; echo end"}})
	out := res.Stdout
	if len(out) < mib || len(out) > mib+100 || !bytes.HasPrefix(out, []byte("begin\n")) ||
		!bytes.HasSuffix(out, []byte("end\n")) {
		t.Errorf("3 MB became %d bytes", len(out))
	}
	if !bytes.Contains(out, []byte("1951434 bytes cut")) {
		t.Error("the cut is not marked with its size")
	}
	res = run(t, host.Command{Argv: []string{"sh", "-c", "head -c 1048576 /dev/zero"}})
	if len(res.Stdout) != mib || bytes.Contains(res.Stdout, []byte("cut")) {
		t.Errorf("1 MiB became %d bytes", len(res.Stdout))
	}
}

// escape is a shell script whose descendants leave in every way that they can
// without privileges: another session, another parent, another environment.
// Each writes its number into the directory $1.
const escape = `
cd "$1"
sleep 1000 & echo $! > child
(setsid sh -c 'echo $$ > session; exec sleep 1000' &)
setsid sh -c '(setsid sh -c "echo \$\$ > daemon; exec sleep 1000" &)'
(env -i /usr/bin/setsid /bin/sh -c 'echo $$ > clean; exec /bin/sleep 1000' &)
trap '' TERM INT HUP
sleep 1000
`

var escaped = []string{"child", "session", "daemon", "clean"}

// pids waits until every descendant has written its number.
func pids(t *testing.T, dir string) []int {
	var out []int
	for _, name := range escaped {
		await(t, name+" to start", func() bool {
			b, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.HasSuffix(b, []byte("\n")) {
				return false
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
			out = append(out, pid)
			return err == nil
		})
	}
	return out
}

// await polls a condition until it is true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// running reports whether a process exists and is not a zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func allGone(t *testing.T, pids []int) {
	t.Helper()
	for i, pid := range pids {
		if running(pid) {
			t.Errorf("%s (%d) is still running", escaped[i], pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// timeout: when Run returns, no process of the tree is left. On a slow host, there is more time
// until every descendant has started.
func (s suite) timeout(t *testing.T, h host.Host) {
	for limit := time.Second; ; limit *= 2 {
		dir := t.TempDir()
		res, err := h.Run(t.Context(), host.Command{Argv: []string{"sh", "-c", escape, "sh", dir}, Timeout: limit})
		must(t, err)
		if !res.TimedOut || res.ExitCode != -1 {
			t.Errorf("got %+v", res)
		}
		if allStarted(dir) || limit > time.Minute {
			allGone(t, pids(t, dir))
			return
		}
	}
}

// allStarted reports whether every descendant has written its whole number.
func allStarted(dir string) bool {
	for _, name := range escaped {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.HasSuffix(b, []byte("\n")) {
			return false
		}
	}
	return true
}

func (s suite) cancel(t *testing.T, h host.Host) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := h.Run(ctx, host.Command{Argv: []string{"sh", "-c", escape, "sh", dir}})
		done <- err
	}()
	found := pids(t, dir)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled command gave %v", err)
	}
	allGone(t, found)
}

// daemon: processes that a command leaves at its normal end continue, even when a later command is
// killed.
func (s suite) daemon(t *testing.T, h host.Host) {
	res, err := h.Run(t.Context(), host.Command{Argv: []string{"sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $!"}})
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(res.Stdout)))
	must(t, err)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	if !running(pid) {
		t.Fatal("a daemon died with the command that started it")
	}
	_, err = h.Run(t.Context(), host.Command{Argv: []string{"sleep", "1000"}, Timeout: 10 * time.Millisecond})
	must(t, err)
	if !running(pid) {
		t.Error("a daemon was killed with a command that did not start it")
	}
	must(t, syscall.Kill(pid, syscall.SIGKILL))
	await(t, "the daemon's end to be collected", func() bool {
		_, err := h.Run(t.Context(), host.Command{Argv: []string{"true"}})
		must(t, err)
		return syscall.Kill(pid, 0) != nil
	})
}

func (s suite) user(t *testing.T, h host.Host) {
	if _, err := h.Run(t.Context(), host.Command{Argv: []string{"id"}, User: "no-such-user"}); err == nil {
		t.Error("a command ran as an unknown user")
	}
	res, err := h.Run(t.Context(), host.Command{Argv: []string{"id", "-un"}, User: "nobody"})
	if !s.traits.Owners && err != nil {
		return // the current user has no permission to become `nobody`
	}
	if err != nil || string(res.Stdout) != "nobody\n" {
		t.Errorf("id -un prints %q, %v", res.Stdout, err)
	}
}
