// Package sshd starts servers of OpenSSH for tests, which take the account that runs
// them and no other.
//
//	needs.Program(t, "sshd")
//	server := sshd.Start(t, "MaxSessions=1")
//	args := []string{"-p", strconv.Itoa(server.Port)}
//	for k, v := range server.Options() { args = append(args, "-o", k+"="+v) }
package sshd

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Server is an SSH server on 127.0.0.1.
type Server struct {
	Port int
	// Dir is a directory of its own whose name is short enough for sockets.
	Dir string
	cmd *exec.Cmd
}

const program = "/usr/sbin/sshd"

// Start starts a server that ends with the test, with more of sshd_config. A test asks
// test/needs for sshd and ssh before.
func Start(t *testing.T, more ...string) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "sshd")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755)
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", key, "-f",
			filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v\n%s", err, out)
		}
	}
	s := &Server{Dir: dir, Port: freePort(t)}
	s.listen(t, more)
	public, err := os.ReadFile(filepath.Join(dir, "host.pub"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "known"), fmt.Appendf(nil, "[127.0.0.1]:%d %s", s.Port, public), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (s *Server) listen(t *testing.T, more []string) {
	t.Helper()
	args := []string{"-D", "-e", "-f", "/dev/null"}
	for _, o := range append(more, "ListenAddress=127.0.0.1", "Port="+strconv.Itoa(s.Port),
		"HostKey="+filepath.Join(s.Dir, "host"),
		"AuthorizedKeysFile="+filepath.Join(s.Dir, "user.pub"), "StrictModes=no", "PidFile=none", "UsePAM=no",
		"PermitRootLogin=prohibit-password", "PasswordAuthentication=no") {
		args = append(args, "-o", o)
	}
	s.cmd = exec.Command(program, args...)
	var said strings.Builder
	s.cmd.Stderr = &said
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	t.Cleanup(func() {
		s.CutAll(t)
		_ = s.cmd.Process.Kill()
		<-ended
	})
	for {
		c, err := net.DialTimeout("tcp", "127.0.0.1:"+strconv.Itoa(s.Port), time.Second)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("sshd ended: %v\n%s", errors.Join(err), said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Options are settings of ssh_config that trust the server and authenticate with it.
func (s *Server) Options() map[string]string {
	return map[string]string{
		"IdentityFile": filepath.Join(s.Dir, "user"), "IdentitiesOnly": "yes", "PreferredAuthentications": "publickey",
		"UserKnownHostsFile": filepath.Join(s.Dir, "known"), "GlobalKnownHostsFile": "/dev/null",
	}
}

// CutAll ends all connections to the server, and not the server.
func (s *Server) CutAll(t *testing.T) {
	t.Helper()
	pid := s.cmd.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, child := range slices.Sorted(maps.Keys(below(strings.Fields(string(children))))) {
		_ = syscall.Kill(child, syscall.SIGKILL)
	}
}

// below are processes with all that they have started.
func below(pids []string) map[int]bool {
	out := map[int]bool{}
	for _, p := range pids {
		n, err := strconv.Atoi(p)
		if err != nil {
			continue
		}
		out[n] = true
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", n, n))
		maps.Copy(out, below(strings.Fields(string(children))))
	}
	return out
}
