package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// OwnSocket is a connection to another process of the same user on the local host.
type OwnSocket struct{ *net.UnixConn }

// ErrForeign means that another user could control the file or socket.
var ErrForeign = errors.New("it belongs to another user")

// DialOwn connects to a socket. The socket, its directory and the listening process must belong to
// this user, and only this user may write to the first two. Otherwise the error is ErrForeign.
// Links are not followed, so a socket behind a link is foreign.
func DialOwn(ctx context.Context, path string) (*OwnSocket, error) {
	if err := errors.Join(ownersOnly(filepath.Dir(path), os.ModeDir), ownersOnly(path, os.ModeSocket)); err != nil {
		return nil, fmt.Errorf("cannot use the socket %s: %w", path, err)
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("cannot use the socket %s: %w", path, err)
	}
	s := &OwnSocket{c.(*net.UnixConn)}
	if err := isUser(s.UnixConn, os.Geteuid()); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("cannot use the socket %s: the listening process: %w", path, err)
	}
	return s, nil
}

// ListenOwn listens on a socket for processes of this user and of root. It closes connections of other users. Only
// this user may write to the directory of the socket: otherwise the error is ErrForeign. The socket of a process that
// has ended is replaced.
func ListenOwn(ctx context.Context, path string) (net.Listener, error) {
	if err := ownersOnly(filepath.Dir(path), os.ModeDir); err != nil {
		return nil, fmt.Errorf("cannot listen on the socket %s: %w", path, err)
	}
	if ownersOnly(path, os.ModeSocket) == nil {
		c, err := DialOwn(ctx, path)
		if err == nil {
			return nil, errors.Join(fmt.Errorf("cannot listen on the socket %s: another process does", path), c.Close())
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			err = unix.Unlink(path)
		}
		if err != nil {
			return nil, err
		}
	}
	var c net.ListenConfig
	l, err := c.Listen(ctx, "unix", path)
	if err == nil {
		if err = unix.Chmod(path, 0o600); err == nil {
			return ownListener{l}, nil
		}
		err = errors.Join(err, l.Close())
	}
	return nil, fmt.Errorf("cannot listen on the socket %s: %w", path, err)
}

// ownListener accepts connections of this user and of root.
type ownListener struct{ net.Listener }

// Accept implements net.Listener.
func (l ownListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if isUser(c.(*net.UnixConn), os.Geteuid(), 0) == nil {
			return c, nil
		}
		_ = c.Close()
	}
}

// ownersOnly checks that a file has this type and owner, and that only its owner can write to it.
func ownersOnly(path string, kind os.FileMode) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) != os.Geteuid() || info.Mode().Type() != kind || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s: %w", path, ErrForeign)
	}
	return nil
}

// isUser checks that the process at the other end of a connection has one of these user IDs.
func isUser(s *net.UnixConn, uids ...int) error {
	var peer *unix.Ucred
	var perr error
	raw, err := s.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { peer, perr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	}
	if err = errors.Join(err, perr); err != nil {
		return err
	}
	if !slices.Contains(uids, int(peer.Uid)) {
		return ErrForeign
	}
	return nil
}

// Pass passes an open file to the other end, with a byte without meaning. The file stays open here.
func (s *OwnSocket) Pass(f *os.File) error {
	n, rights, err := s.WriteMsgUnix([]byte{0}, unix.UnixRights(int(f.Fd())), nil)
	if err == nil && (n != 1 || rights == 0) {
		err = errors.New("cannot pass a file: it was not taken")
	}
	return err
}
