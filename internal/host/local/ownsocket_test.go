package local_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host/local"
)

// listen makes a socket that is this user's own, in a directory that is.
func listen(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "own") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err = errors.Join(err, os.Chmod(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return path
}

// TestDialOwn: sockets that another user could have created are refused.
func TestDialOwn(t *testing.T) {
	good := listen(t)
	if s, err := local.DialOwn(t.Context(), good); err != nil {
		t.Fatal(err)
	} else {
		_ = s.Close()
	}
	for name, spoil := range map[string]func(path, dir string) error{
		"a directory for others": func(_, dir string) error { return os.Chmod(dir, 0o770) },
		"a socket for others":    func(path, _ string) error { return os.Chmod(path, 0o602) },
		"a file": func(path, _ string) error {
			return errors.Join(os.Remove(path),
				os.WriteFile(path, nil, 0o600))
		},
		"a link": func(path, dir string) error {
			return errors.Join(os.Rename(path, filepath.Join(dir, "x")), os.Symlink("x", path))
		},
		"another's socket":    func(path, _ string) error { return os.Chown(path, 65534, -1) },
		"another's directory": func(_, dir string) error { return os.Chown(dir, 65534, -1) },
		"another listens":     func(path, _ string) error { return errors.Join(os.Remove(path), listenAs(t, path, 65534)) },
	} {
		if os.Getuid() != 0 && name[:2] == "an" {
			continue // only root can play it
		}
		path := listen(t)
		if err := spoil(path, filepath.Dir(path)); err != nil {
			t.Fatal(err)
		}
		if s, err := local.DialOwn(t.Context(), path); !errors.Is(err, local.ErrForeign) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	_, err := local.DialOwn(t.Context(), filepath.Join(filepath.Dir(good), "none"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("where nothing is: %v", err)
	}
}

// listenAs listens at a socket of this user's with the rights of another one.
func listenAs(t *testing.T, path string, uid uintptr) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), os.Chmod(path, 0o600))
	}
	if err != nil {
		return err
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with its rights
		const same = ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uid, same); errno != 0 {
			done <- errno
			return
		}
		done <- unix.Listen(fd, 1)
	}()
	return <-done
}

// TestListenOwn: only this user and root reach the socket, also if its file permits others. The socket of a process
// that has ended is replaced, and the socket of a process that listens is not.
func TestListenOwn(t *testing.T) {
	path := listen(t)
	if _, err := local.ListenOwn(t.Context(), path); err == nil {
		t.Fatal("two processes listen")
	}
	old, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(filepath.Dir(path), "old"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false) // as after a kill
	path = old.Addr().String()
	if err := errors.Join(os.Chmod(path, 0o600), old.Close()); err != nil {
		t.Fatal(err)
	}
	l, err := local.ListenOwn(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	accepted := make(chan net.Conn, 2)
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			accepted <- c
		}
	}()
	if os.Getuid() == 0 {
		if err := errors.Join(os.Chmod(path, 0o666), os.Chmod(filepath.Dir(path), 0o755)); err != nil {
			t.Fatal(err)
		}
		c, err := dialAs(path, 65534)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("another user has a connection")
		}
		_ = c.Close()
	}
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = (<-accepted).Close()
	if len(accepted) > 0 {
		t.Error("another user was accepted")
	}
	if err := os.Chmod(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := local.ListenOwn(t.Context(), path+"2"); !errors.Is(err, local.ErrForeign) {
		t.Errorf("in a directory of others: %v", err)
	}
}

// dialAs connects to a socket with the rights of another user.
func dialAs(path string, uid uintptr) (net.Conn, error) {
	type result struct {
		net.Conn
		error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlock it: the thread ends with its rights
		const same = ^uintptr(0)
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, same, uid, same); errno != 0 {
			done <- result{nil, errno}
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		}
		if err != nil {
			done <- result{nil, err}
			return
		}
		f := os.NewFile(uintptr(fd), path)
		c, err := net.FileConn(f)
		done <- result{c, errors.Join(err, f.Close())}
	}()
	r := <-done
	return r.Conn, r.error
}

// TestPass passes an open file to the listener.
func TestPass(t *testing.T) {
	dir, err := os.MkdirTemp("", "own")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err = errors.Join(err, os.Chmod(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s, err := local.DialOwn(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, w, err := os.Pipe()
	if err = errors.Join(err, s.Pass(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	c, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	one, rights := make([]byte, 2), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := c.ReadMsgUnix(one, rights)
	if err != nil || n != 1 {
		t.Fatalf("%d bytes, %v", n, err)
	}
	messages, _ := unix.ParseSocketControlMessage(rights[:m])
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[0]), "passed")
	_, err = theirs.WriteString("through")
	err = errors.Join(err, theirs.Close())
	if got, rerr := io.ReadAll(r); string(got) != "through" || err != nil || rerr != nil {
		t.Errorf("%q, %v, %v", got, err, rerr)
	}
}
