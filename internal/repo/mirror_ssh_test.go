package repo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/test/needs"
)

// TestMirrorOverSSH: a deploy key and known_hosts are all that counts, and each alone is
// not enough.
func TestMirrorOverSSH(t *testing.T) {
	g, _, second := twoCommits(t)
	dir := t.TempDir()
	for _, name := range []string{"host", "deploy", "stranger"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
			filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	addr := startSSH(t, dir)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addr)
	line := func(key string) string {
		public, err := os.ReadFile(filepath.Join(dir, key+".pub"))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("[127.0.0.1]:%s %s", port, public)
	}
	for name, text := range map[string]string{"known": line("host"), "other": line("stranger"), "nobody": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	source := "ssh://" + me.Username + "@" + addr + g.dir
	for _, c := range []struct{ key, known, want string }{
		{"deploy", "known", ""},
		{"deploy", "other", "Host key verification failed"},
		{"deploy", "nobody", "Host key verification failed"},
		{"stranger", "known", "Permission denied"},
	} {
		m, err := sshMirror(t, source, repo.Access{Key: filepath.Join(dir, c.key), KnownHosts: filepath.Join(dir, c.known)})
		if c.want != "" {
			wantErr(t, err, c.want)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.Update(t.Context(), []string{"main"}); err != nil || got["main"] != second {
			t.Errorf("%v, %v", got, err)
		}
	}
	_, err = sshMirror(t, source, repo.Access{})
	wantErr(t, err, "cannot list the branches")
}

func sshMirror(t *testing.T, source string, a repo.Access) (*repo.Mirror, error) {
	r, err := repo.OpenRemote(source)
	if err == nil {
		r, err = r.With(a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return repo.OpenMirror(t.Context(), filepath.Join(t.TempDir(), "m"), r, repo.MirrorLimits{})
}

// startSSH starts a server of our own for the deploy key in a directory, and tells where.
func startSSH(t *testing.T, dir string) string {
	t.Helper()
	program := needs.Program(t, "sshd")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	_, port, _ := net.SplitHostPort(addr)
	free.Close()
	if os.Getuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "-D", "-e", "-f", "/dev/null", "-o", "ListenAddress=127.0.0.1", "-o",
		"Port="+port,
		"-o", "HostKey="+filepath.Join(dir, "host"), "-o", "AuthorizedKeysFile="+filepath.Join(dir, "deploy.pub"), "-o",
		"StrictModes=no",
		"-o", "PidFile=none", "-o", "UsePAM=no", "-o", "PermitRootLogin=prohibit-password", "-o", "PasswordAuthentication=no")
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { cancel(); <-ended })
	for {
		c, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			c.Close()
			return addr
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("sshd ended: %v\n%s", errors.Join(err), said.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
