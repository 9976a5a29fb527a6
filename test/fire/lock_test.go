package fire

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"sync"
)

// said is what a process has printed so far.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// begin starts a command of the host. The channel is closed at its end.
func (m *machine) begin(argv ...string) (cmd *exec.Cmd, out *said, done chan struct{}) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	m.t.Cleanup(cancel)
	cmd, err := m.Command(ctx, argv...)
	if err != nil {
		m.t.Fatal(err)
	}
	out, done = &said{}, make(chan struct{})
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return cmd, out, done
}

// holder keeps the locks of dpkg and apt: an apt-get whose package waits.
func (m *machine) holder() (release func()) {
	m.t.Helper()
	m.Run(m.t, "sh", "-c", "rm -f /run/go /run/waits")
	_, _, done := m.begin("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "waiting")
	m.await("the lock", func() bool { return m.has("/run/waits") })
	return func() {
		m.Run(m.t, "touch", "/run/go")
		<-done
		m.Run(m.t, "dpkg", "--purge", "waiting")
	}
}

// lockWaitedFor: fettle says who holds the lock, and goes on when it is free.
func lockWaitedFor(m *machine) {
	release := m.holder()
	m.only(`package "bystander" {}`)
	cmd, out, done := m.begin(argv("apply", "--yes")...)
	m.await("word of the lock", func() bool {
		return strings.Contains(out.String(),
			"package lock, held by apt-get install -y waiting")
	})
	m.want("", "dpkg-query", "-W", "bystander")
	release()
	<-done
	if code := cmd.ProcessState.ExitCode(); code != success || !strings.HasPrefix(m.status("bystander"), "ii") {
		m.t.Errorf("exit code %d\n%s", code, out)
	}
	m.apply(success, "")
}

// lockInterrupted: whoever does not want to wait stops fettle, and nothing has
// changed.
func lockInterrupted(m *machine) {
	release := m.holder()
	defer release()
	m.only(`package "bystander" {}`)
	cmd, out, done := m.begin(argv("apply", "--yes")...)
	m.await("word of the lock", func() bool { return strings.Contains(out.String(), "package lock, held by apt-get") })
	m.Run(m.t, "pkill", "-INT", "-x", "fettle")
	<-done
	if code := cmd.ProcessState.ExitCode(); code != failed {
		m.t.Errorf("exit code %d", code)
	}
	m.says(output{text: out.String()}, "the package lock is held by apt-get install -y waiting", "interrupted by a signal")
	if strings.Contains(out.String(), "half-configured") {
		m.t.Errorf("what somebody is about to finish is called broken:\n%s", out)
	}
	m.want("", "dpkg-query", "-W", "bystander")
}
