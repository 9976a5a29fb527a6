package mux_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// master is a fake of OpenSSH's, with one connection.
type master struct {
	*net.UnixConn
	command string
	env     []string
	files   []*os.File
}

// number and text are how the protocol writes them.
func number(n int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(n)) }
func text(s string) []byte {
	return append(number(len(s)), s...)
}

// say sends one message.
func (m *master) say(fields ...any) {
	var b []byte
	for _, f := range fields {
		switch f := f.(type) {
		case int:
			b = append(b, number(f)...)
		case string:
			b = append(b, text(f)...)
		}
	}
	_, _ = m.Write(append(number(len(b)), b...))
}

// The kinds of messages, as PROTOCOL.mux has them.
const (
	hello, newSession, denied, failed, ended, opened = 1, 0x10000002, 0x80000002, 0x80000003, 0x80000004, 0x80000006
)

// fake listens, and has f answer the first who comes. It tells the path.
func fake(t *testing.T, f func(*master)) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "mux") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err = errors.Join(err, os.Chmod(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		m := &master{UnixConn: c}
		defer m.Close()
		f(m)
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return path
}

// take reads one message, without its length.
func (m *master) take() ([]byte, error) {
	var n [4]byte
	if _, err := io.ReadFull(m, n[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	_, err := io.ReadFull(m, b)
	return b, err
}

// asked takes the hello and what is asked for, with its files.
func (m *master) asked() error {
	if b, err := m.take(); err != nil || string(b) != string(append(number(hello), number(4)...)) {
		return errors.Join(err, errors.New("it begins without a hello"))
	}
	b, err := m.take()
	head := string(number(newSession)) + string(number(0)) + string(text("")) + strings.Repeat("\x00",
		16) + "\xff\xff\xff\xff" + string(text(""))
	rest, ok := strings.CutPrefix(string(b), head)
	if err != nil || !ok {
		return errors.Join(err, errors.New("it asks for no plain session"))
	}
	for i := 0; len(rest) >= 4; i++ {
		n := binary.BigEndian.Uint32([]byte(rest))
		if i == 0 {
			m.command = rest[4 : 4+n]
		} else {
			m.env = append(m.env, rest[4:4+n])
		}
		rest = rest[4+n:]
	}
	for range 3 {
		f, err := m.file()
		if err != nil {
			return err
		}
		m.files = append(m.files, f)
	}
	return nil
}

func (m *master) file() (*os.File, error) {
	one, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := m.ReadMsgUnix(one, rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("a byte comes without a file")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "passed"), nil
}

func (m *master) letGo() {
	for _, f := range m.files {
		_ = f.Close()
	}
}

// runs answers as OpenSSH does, with a shell of this machine as the other one.
func runs(m *master) {
	m.say(hello, 4)
	if m.asked() != nil {
		return
	}
	cmd := exec.Command("sh", "-c", m.command)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = m.files[0], m.files[1], m.files[2]
	cmd.Env = append(os.Environ(), m.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Start() != nil {
		return
	}
	m.letGo()
	m.say(opened, 0, 5)
	go func() {
		if _, err := m.take(); err != nil { // the other end has gone
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	_ = cmd.Wait()
	m.say(ended, 5, cmd.ProcessState.ExitCode())
}
