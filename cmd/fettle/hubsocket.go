package main

import (
	"errors"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// listenForRoot listens on a socket for root and for the user of this process. Its mode keeps all
// other users away, and so does rootListener if the mode was changed.
func listenForRoot(file string) (net.Listener, error) { return listenFor(file, os.Geteuid(), 0o600) }

// listenFor listens on a socket for root and for one user. It replaces the socket of a dead process.
func listenFor(file string, uid int, mode os.FileMode) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, err
	}
	if c, err := net.Dial("unix", file); err == nil {
		return nil, errors.Join(errors.New("cannot listen at "+file+": another process does"), c.Close())
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	// The socket is created in a separate directory, so that no process opens it before its mode is
	// set.
	nest, err := os.MkdirTemp(filepath.Dir(file), ".hub-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(nest) }()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(nest, "s")})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(l.Addr().String(), mode), os.Rename(l.Addr().String(), file)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return rootListener{l, uid}, nil
}

// rootListener accepts connections of root and of one user. It closes all others without an answer.
type rootListener struct {
	*net.UnixListener
	user int
}

// Accept returns the next connection of an allowed user.
func (l rootListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := peerOf(c)
		switch {
		case err != nil:
			log.Printf("a connection to the socket of root was closed, because its user is unknown: %v", err)
		case uid == 0 || int(uid) == l.user:
			return c, nil
		default:
			log.Printf("a connection to the socket of root was closed: it is of the user with the number %d", uid)
		}
		_ = c.Close()
	}
}

// peerOf returns the user that opened a connection, as the kernel recorded it.
func peerOf(c *net.UnixConn) (uid uint32, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	cerr := raw.Control(func(fd uintptr) {
		var cred *syscall.Ucred
		if cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			uid = cred.Uid
		}
	})
	return uid, errors.Join(cerr, err)
}
