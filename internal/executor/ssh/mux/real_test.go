package mux_test

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"fettle.dev/fettle/internal/executor/ssh/mux"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sshd"
)

// serve starts a server of OpenSSH with more of sshd_config.
func serve(t *testing.T, more ...string) *sshd.Server {
	t.Helper()
	needs.Program(t, "sshd")
	needs.Program(t, "ssh")
	return sshd.Start(t, more...)
}

// keep has OpenSSH keep a connection to a server, and tells its socket and its process.
func keep(t *testing.T, server *sshd.Server) (path string, master *exec.Cmd) {
	t.Helper()
	path = filepath.Join(server.Dir, "c")
	args := []string{"-F", "/dev/null", "-N", "-T", "-o", "BatchMode=yes", "-o", "SendEnv=LC_*", "-o",
		"ControlMaster=yes", "-o", "ControlPath=" + path}
	for k, v := range server.Options() {
		args = append(args, "-o", k+"="+v)
	}
	master = exec.Command("ssh", append(args, "-p", strconv.Itoa(server.Port), "127.0.0.1")...)
	if err := master.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = master.Process.Kill()
		_ = master.Wait()
	})
	await(t, "socket", func() bool { _, err := os.Lstat(path); return err == nil })
	return path, master
}

func TestOpenSSH(t *testing.T) {
	path, _ := keep(t, serve(t, "AcceptEnv=LC_*"))
	conform(t, func(*testing.T) string { return path })
}

// TestOpenSSHRefuses: a server that lets no more sessions in is an error and no hang.
func TestOpenSSHRefuses(t *testing.T) {
	path, _ := keep(t, serve(t, "MaxSessions=1"))
	s := begin(t, path, "cat")
	if two, err := ask(t.Context(), path, mux.Request{Command: "true"}); err == nil {
		t.Errorf("there is a second session: %v", two)
	}
	_ = s.In.Close()
	if _, _, code := all(s); code != 0 {
		t.Errorf("the first one ends with %d", code)
	}
	await(t, "room for the next", func() bool {
		s, err := ask(t.Context(), path, mux.Request{Command: "true"})
		if err == nil {
			s.Kill()
		}
		return err == nil
	})
}

// TestOpenSSHDies: the death of a master, and of the other end, is a lost connection.
func TestOpenSSHDies(t *testing.T) {
	for name, end := range map[string]func(*sshd.Server, *exec.Cmd){
		"master": func(_ *sshd.Server, m *exec.Cmd) { _ = m.Process.Kill() },
		"server": func(s *sshd.Server, _ *exec.Cmd) { s.CutAll(t) },
	} {
		server := serve(t)
		path, master := keep(t, server)
		s := begin(t, path, "echo begun; cat")
		if _, err := io.ReadFull(s.Out, make([]byte, len("begun\n"))); err != nil {
			t.Fatal(err)
		}
		end(server, master)
		if _, _, code := all(s); code != 255 {
			t.Errorf("without its %s it ends with %d", name, code)
		}
		if s, err := ask(t.Context(), path, mux.Request{Command: "true"}); err == nil {
			t.Errorf("without its %s there is a session: %v", name, s)
		}
	}
}
