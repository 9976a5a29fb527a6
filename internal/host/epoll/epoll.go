// Package epoll waits for very many sockets with one goroutine, with epoll(7). With the runtime's
// own epoll, each waiting socket needs a goroutine with its stack.
//
//	s, err := epoll.New()
//	err = s.Arm(raw, 7, false)      // raw is what SyscallConn gave
//	s.Wait(func(number uint64) { … read, and s.Arm(raw, number, true) })
//
// A socket also remains registered with the runtime: the callee reads from it as usual.
package epoll

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Socket is an open socket, such as a syscall.RawConn.
type Socket interface {
	// Control calls f with the descriptor, which stays open until f returns.
	Control(f func(fd uintptr)) error
}

// Set is the set of sockets to wait for. Its methods are safe for concurrent use.
type Set struct {
	file *os.File
	raw  interface {
		Socket
		Read(f func(fd uintptr) (done bool)) error
	}
}

// atOnce is how many sockets are taken from the kernel at a time.
const atOnce = 128

// New makes an empty one, which its user closes.
func New() (*Set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("cannot make an epoll: %w", err)
	}
	// An epoll can itself be waited for as a socket can, and then takes no thread.
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	s := &Set{file: os.NewFile(uintptr(fd), "epoll")}
	s.raw, err = s.file.SyscallConn()
	return s, err
}

// Close ends Wait. It may be called again.
func (s *Set) Close() { _ = s.file.Close() }

// Arm makes Wait report the number once, as soon as data is readable or the other end has closed:
// at once if that is already the case. known must be set if the socket was armed before. The kernel
// forgets a closed socket.
func (s *Set) Arm(of Socket, number uint64, known bool) error {
	op := unix.EPOLL_CTL_ADD
	if known {
		op = unix.EPOLL_CTL_MOD
	}
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: int32(uint32(number)),
		Pad: int32(uint32(number >> 32))}
	var inner, failed error
	outer := s.raw.Control(func(epoll uintptr) {
		inner = of.Control(func(fd uintptr) { failed = unix.EpollCtl(int(epoll), op, int(fd), &e) })
	})
	return errors.Join(outer, inner, failed)
}

// Wait calls each, one after the other, with the number of every socket that is ready, until
// the set is closed.
func (s *Set) Wait(each func(number uint64)) {
	events := make([]unix.EpollEvent, atOnce)
	for {
		n := 0
		err := s.raw.Read(func(epoll uintptr) bool {
			var err error
			n, err = unix.EpollWait(int(epoll), events, 0)
			return err == nil && n > 0
		})
		if err != nil {
			return
		}
		for _, e := range events[:n] {
			each(uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32)
		}
	}
}

// HungUp reports whether the other end of a socket has closed it or shut down writing. It is false
// for a nil socket, and if the kernel does not report it.
func HungUp(of Socket) bool {
	if of == nil {
		return false
	}
	gone := false
	_ = of.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(p, 0)
		gone = err == nil && n > 0 && p[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone
}
