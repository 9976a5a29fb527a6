package isolated_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host/isolated"
	"fettle.dev/fettle/test/needs"
)

func open(t testing.TB, o isolated.Options) *isolated.View {
	t.Helper()
	needs.Root(t)
	r, err := isolated.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func sh(r *isolated.View, script string, words ...string) (string, error) {
	var out strings.Builder
	cmd := exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, words...)...)
	cmd.Stdout, cmd.Stderr = &out, &out
	var err error
	r.Do(func() { err = cmd.Start() })
	if err == nil {
		err = cmd.Wait()
	}
	return out.String(), err
}

// Writes of a program are visible only to that program.
func TestWritesAreDiscarded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	name, _ := os.Hostname()
	r := open(t, isolated.Options{})
	out, err := sh(r, `set -e; echo more >> "$1/file"; cat "$1/file"; mkdir "$1/dir"; chmod 644 "$1/file"; hostname changed; cd "$1"; ls; mktemp >/dev/null; : > /run/fettle-isolated-test`, dir)
	if err != nil || out != "before\nmore\ndir\nfile\n" {
		t.Errorf("%v: %s", err, out)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "before\n" {
		t.Errorf("the file is %q: %v", text, err)
	}
	if st, err := os.Stat(file); err != nil || st.Mode() != 0o600 {
		t.Errorf("the mode is %v: %v", st, err)
	}
	for _, p := range []string{filepath.Join(dir, "dir"), "/run/fettle-isolated-test"} {
		if _, err := os.Lstat(p); err == nil {
			t.Errorf("%s is there", p)
		}
	}
	if now, _ := os.Hostname(); now != name {
		t.Errorf("the host's name is %s", now)
	}
}

// Kernel settings cannot be written to.
func TestKernelSettingsAreReadOnly(t *testing.T) {
	r := open(t, isolated.Options{Network: true})
	if out, err := sh(r, "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness"); err == nil {
		t.Errorf("a setting was written: %s", out)
	}
	if out, err := sh(r,
		"cat /proc/sys/vm/swappiness && kill -0 $PPID && echo x > /dev/null && test -d /sys/class"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// A program is detected if and only if it sends data into the network.
func TestNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	const connect = `exec 3<>/dev/tcp/$0/$1`
	for _, c := range []struct {
		script string
		sends  bool
	}{
		{"test -e /etc", false}, {"getent -s files hosts localhost; true", false},
		{`bash -c '` + connect + `' 127.0.0.1 ` + port, true}, {`bash -c '` + connect + `' 192.0.2.1 80`, true},
		{`bash -c 'exec 3<>/dev/udp/192.0.2.1/9'`, true},
	} {
		r := open(t, isolated.Options{})
		before := r.Packets()
		out, err := sh(r, c.script)
		if sent := r.Packets() > before; sent != c.sends || c.sends && err == nil {
			t.Errorf("%s: sent is %v: %v: %s", c.script, sent, err, out)
		}
	}
	if out, err := sh(open(t, isolated.Options{Network: true}), `bash -c '`+connect+`' 127.0.0.1 `+port); err != nil {
		t.Errorf("with the network of the machine: %v: %s", err, out)
	}
}

// A program can connect to the sockets of the machine, wherever they are.
func TestSockets(t *testing.T) {
	dir, err := os.MkdirTemp("/run", "fettle-isolated")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	for _, dir := range []string{t.TempDir(), dir} {
		path := filepath.Join(dir, "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		r := open(t, isolated.Options{})
		var c net.Conn
		r.Do(func() { c, err = net.Dial("unix", path) })
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else {
			c.Close()
		}
		l.Close()
	}
}

func BenchmarkOpen(b *testing.B) {
	needs.Root(b)
	for b.Loop() {
		r, err := isolated.Open(isolated.Options{})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
