package epoll_test

import (
	"net"
	"testing"
	"time"

	"fettle.dev/fettle/internal/host/epoll"
)

// TestSet: a socket is reported when it is readable, once for each time that it is armed, and when
// the other end closes it.
func TestSet(t *testing.T) {
	s, err := epoll.New()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	told, done := make(chan uint64, 10), make(chan bool)
	go func() {
		s.Wait(func(n uint64) { told <- n })
		close(done)
	}()
	const first, second = 7, 1<<40 + 1<<31 + 3
	near, far := map[uint64]*net.TCPConn{}, map[uint64]net.Conn{}
	arm := func(n uint64, known bool) error {
		t.Helper()
		raw, err := near[n].SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		return s.Arm(raw, n, known)
	}
	for _, n := range []uint64{first, second} {
		if far[n], err = net.Dial("tcp", l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		near[n] = c.(*net.TCPConn)
		defer near[n].Close()
		if err := arm(n, false); err != nil {
			t.Fatal(err)
		}
	}
	is := func(want uint64) {
		t.Helper()
		if got := <-told; got != want || len(told) > 0 {
			t.Fatalf("told of %d and %d more, want %d", got, len(told), want)
		}
	}
	for range 2 { // unread data is reported again
		if _, err := far[second].Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		is(second)
		if err := arm(second, true); err != nil {
			t.Fatal(err)
		}
		is(second)
		if _, err := near[second].Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := arm(second, true); err != nil {
			t.Fatal(err)
		}
	}
	_ = far[first].Close()
	is(first)
	_ = near[first].Close()
	if arm(first, true) == nil {
		t.Error("armed a socket that is closed")
	}
	s.Close()
	<-done
	if arm(second, true) == nil {
		t.Error("armed in a set that is closed")
	}
}

// TestHungUp: a closed connection is distinguished from a silent one, in every earlier state.
func TestHungUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := far.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if epoll.HungUp(raw) || epoll.HungUp(nil) {
		t.Error("one that is there is said to be gone")
	}
	_ = far.Close()
	for end := time.Now().Add(time.Minute); !epoll.HungUp(raw); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("one that is gone is said to be there")
		}
	}
	_ = c.Close()
	if epoll.HungUp(raw) {
		t.Error("nothing is known of a socket that is closed")
	}
}
