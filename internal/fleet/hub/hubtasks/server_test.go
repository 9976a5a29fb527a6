package hubtasks

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/scopes"
	"fettle.dev/fettle/internal/fleet/scope/checks"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/local"
	"fettle.dev/fettle/internal/lang/query"
)

const tsig = "correct-horse/battery+staple=="

// serve starts a server with real commands, and returns its client and a directory.
func serve(t *testing.T) (Client, string) {
	t.Helper()
	h, err := local.Open("/", local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := Server{Run: h.Run, Now: time.Now, VerifyFor: time.Millisecond,
		Test: func(_ context.Context, p query.Probe, _ time.Duration) error {
			_, err := os.Stat(p.File)
			return err
		}}
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.Serve(ctx, conn) })
		}
	})
	t.Cleanup(func() {
		stop()
		err := l.Close()
		serving.Wait()
		if err := errors.Join(err, h.Close()); err != nil {
			t.Error(err)
		}
	})
	return dialer(socket), dir
}

func dialer(socket string) Client {
	return Client{Dial: func(context.Context) (io.ReadWriteCloser, error) { return net.Dial("unix", socket) }}
}

// shell returns work that runs a script.
func shell(script string) scopes.Work {
	return scopes.Work{Attempt: fleet.TaskAttempt{Scope: "universe/main", Task: "crl", Fence: 7,
		Expires: time.Now().Unix() + 60}, Env: map[string]string{"TSIG_KEY": tsig},
		ScopeTask: query.ScopeTask{Name: "crl", Command: []string{"/bin/sh", "-c", script}, Input: "content", Timeout: 60}}
}

// TestOutcomes: the result of an attempt, without secrets.
func TestOutcomes(t *testing.T) {
	const done, failed = fleet.TaskDone, fleet.TaskFailed
	const complete = `test "$(cat)" = content && test "$FETTLE_TASK_FENCE" = 7 && test -n "$TSIG_KEY"`
	c, dir := serve(t)
	if why := c.Unable(); why != "" {
		t.Fatal(why)
	}
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		script  string
		change  func(*scopes.Work)
		outcome fleet.TaskOutcome
		text    string
	}{
		"done":              {complete, nil, done, ""},
		"failed":            {`echo no route >&2; exit 3`, nil, failed, "the command ended with exit code 3: no route"},
		"no program":        {"", func(w *scopes.Work) { w.Command = []string{"/no/program"} }, failed, "cannot run"},
		"secret":            {`echo "key $TSIG_KEY"; exit 1`, nil, failed, "key (secret)"},
		"long secret":       {`printf '%0500d%s%0290d' 0 "$TSIG_KEY" 0; exit 1`, nil, failed, "(secret)0"},
		"encoded":           {`printf %s "$TSIG_KEY" | base64; exit 1`, nil, failed, "(secret)"},
		"clean environment": {`test -z "$FETTLE_LEAK" && test "$HOME" = /`, nil, done, ""},
		"no descriptors":    {`! ls -l /proc/self/fd | grep socket`, nil, done, ""},
		"holds already": {"exit 1", func(w *scopes.Work) { w.Verify = &query.Probe{File: there} },
			fleet.TaskVerified, ""},
		"holds after": {"touch " + dir + "/after", func(w *scopes.Work) { w.Verify = &query.Probe{File: dir + "/after"} },
			done, ""},
		"does not hold": {"true", func(w *scopes.Work) { w.Verify = &query.Probe{File: "/none"} }, failed,
			"the condition of verify does not hold"},
		"only verified": {"touch " + dir + "/never", func(w *scopes.Work) {
			w.Attempt.VerifyOnly, w.Verify = true, &query.Probe{File: "/none"}
		}, fleet.TaskNotDone, "no such file"},
		"expired":  {"touch " + dir + "/never", func(w *scopes.Work) { w.Attempt.Expires = 1 }, fleet.TaskRefused, "expired"},
		"too long": {"sleep 60", func(w *scopes.Work) { w.Timeout = 1 }, failed, "did not end within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FETTLE_LEAK", "x")
			w := shell(x.script)
			if x.change != nil {
				x.change(&w)
			}
			outcome, text := c.Do(t.Context(), w)
			if outcome != x.outcome || !strings.Contains(text, x.text) || text != "" && x.text == "" {
				t.Errorf("%s: %s, want %s: %s", outcome, text, x.outcome, x.text)
			}
			for _, part := range []string{"correct", "horse", "battery", "staple", "Y29ycmVj"} {
				if strings.Contains(text, part) {
					t.Errorf("the text has a secret: %s", text)
				}
			}
		})
	}
	if _, err := os.Stat(dir + "/never"); err == nil {
		t.Error("a command began that must not begin")
	}
}

// TestConditions: the result of a test of a condition. Without a result of the service, the condition is untested.
func TestConditions(t *testing.T) {
	c, dir := serve(t)
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Test(t.Context(), query.Probe{File: there}, time.Second); err != nil {
		t.Error(err)
	}
	err := c.Test(t.Context(), query.Probe{File: "/none"}, time.Second)
	if err == nil || errors.Is(err, checks.ErrUntested) || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	err = dialer(filepath.Join(dir, "none")).Test(t.Context(), query.Probe{File: there}, time.Second)
	if !errors.Is(err, checks.ErrUntested) || !strings.Contains(err.Error(), "systemctl enable --now fettle-hub-tasks") {
		t.Error(err)
	}
	older := Client{Dial: func(context.Context) (io.ReadWriteCloser, error) {
		here, there := net.Pipe()
		go func() {
			_, _ = receive[request](there, maxRequest)
			_ = send(there, reply{})
		}()
		return here, nil
	}}
	err = older.Test(t.Context(), query.Probe{File: there}, time.Second)
	if !errors.Is(err, checks.ErrUntested) || !strings.Contains(err.Error(), "systemctl restart fettle-hub-tasks") {
		t.Error(err)
	}
}

// TestInterruptedTask: if the hub or the service ends, the command is killed, and the result is unknown.
func TestInterruptedTask(t *testing.T) {
	c, dir := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	began := filepath.Join(dir, "pid")
	got := make(chan fleet.TaskOutcome, 1)
	go func() {
		o, _ := c.Do(ctx, shell("echo $$ > "+began+".new && mv "+began+".new "+began+"; sleep 600"))
		got <- o
	}()
	pid := await(t, func() string { b, _ := os.ReadFile(began); return strings.TrimSpace(string(b)) })
	cancel()
	if o := <-got; o != "" {
		t.Errorf("the outcome is %q", o)
	}
	await(t, func() string {
		b, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil || strings.Contains(string(b), ") Z ") {
			return "killed"
		}
		return ""
	})
}

// await waits until a function returns a text.
func await(t *testing.T, f func() string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text := f(); text != "" {
			return text
		}
	}
	t.Fatal("nothing happened within a minute")
	return ""
}

// TestNoService: without a service, the hub knows why it does no tasks, and an attempt did not begin.
func TestNoService(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	c := dialer(socket)
	if why := c.Unable(); !strings.Contains(why, "systemctl enable --now fettle-hub-tasks") {
		t.Errorf("the reason is %q", why)
	}
	if o, text := c.Do(t.Context(), shell("true")); o != fleet.TaskRefused || text == "" {
		t.Errorf("%s: %s", o, text)
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // as for a client of another user
		}
	}()
	defer func() { _ = l.Close() }()
	if why := c.Unable(); !strings.Contains(why, "does not answer") {
		t.Errorf("the reason is %q", why)
	}
	if o, text := c.Do(t.Context(), shell("true")); o != "" || text == "" {
		t.Errorf("%s: %s", o, text)
	}
}

// TestFaultyRun: an error of the runner is a failure, and its text has no secret.
func TestFaultyRun(t *testing.T) {
	s := Server{Now: time.Now, Run: func(context.Context, host.Command) (host.CommandResult, error) {
		return host.CommandResult{}, errors.New("cannot run " + tsig)
	}}
	o, err := s.do(t.Context(), request{Command: []string{"x"}, Expires: time.Now().Unix() + 60,
		Env: map[string]string{"A": tsig}})
	if o != fleet.TaskFailed || !strings.Contains(err.Error(), "(secret)") {
		t.Errorf("%s: %v", o, err)
	}
}
