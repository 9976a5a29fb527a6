package agentconn

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// queueOf is a listener of connections from addresses.
type queueOf chan net.Conn

func (q queueOf) Accept() (net.Conn, error) {
	c, ok := <-q
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (q queueOf) Close() error { close(q); return nil }
func (queueOf) Addr() net.Addr { return nil }

func (q queueOf) come(t *testing.T, from string) (client net.Conn) {
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	q <- far{server, from}
	return client
}

// accepting passes on what a listener accepts.
func accepting(l net.Listener) <-chan *Bounded {
	all := make(chan *Bounded, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all <- BoundedOf(c)
		}
	}()
	return all
}

// Thousands of agents behind one address reconnect at once: while they authenticate, they wait
// in the kernel, and none is refused.
func TestAgentsBehindOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := make(queueOf, 1000)
		warned := 0
		l := Budget{Most: 2000, Strangers: 8, Patience: time.Minute, Queue: time.Second}.Limit(q, func(string) { warned++ })
		for range 500 {
			q.come(t, "192.0.2.1")
		}
		all := accepting(l)
		synctest.Wait()
		waiting := []*Bounded{}
		for came := 0; came < 500; {
			for len(all) > 0 {
				waiting = append(waiting, <-all)
				came++
			}
			if len(waiting) == 0 {
				t.Fatalf("%d of 500 connections were accepted", came)
			}
			waiting[0].Authenticated()
			waiting = waiting[1:]
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if warned != 0 {
			t.Errorf("%d warnings", warned)
		}
		_ = l.Close()
		synctest.Wait()
	})
}

// A flood of one address delays a connection of another address once, by the time of the queue, and
// then no longer.
func TestFloodOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := make(queueOf, 1000)
		l := Budget{Most: 20, Strangers: 8, Patience: time.Minute, Queue: time.Second}.Limit(q, nil)
		all := accepting(l)
		for range 100 {
			q.come(t, "192.0.2.1")
		}
		q.come(t, "192.0.2.2")
		began := time.Now()
		for len(q) > 0 {
			time.Sleep(time.Millisecond)
			synctest.Wait()
		}
		open := map[string]int{}
		for len(all) > 0 {
			b := <-all
			select {
			case <-b.Done():
			default:
				open[b.from.String()]++
			}
		}
		if open["192.0.2.1/32"] != 7 || open["192.0.2.2/32"] != 1 || time.Since(began) > time.Second {
			t.Errorf("after %s: %v", time.Since(began), open)
		}
		_ = l.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if b := l.(*bounded); b.tally.open != 0 || len(b.tally.of) != 0 {
			t.Errorf("after the patience: %+v", b.tally)
		}
	})
}

// A connection that loses its place gives its turn to others at once.
func TestDisplacedWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHandshakeLimiter(1, time.Hour)
		free, err := s.admit(t.Context(), far{from: "192.0.2.1"})
		if err != nil {
			t.Fatal(err)
		}
		q := make(queueOf, 10)
		l := Budget{Most: 20, Strangers: 1, Patience: time.Hour}.Limit(q, nil)
		all := accepting(l)
		q.come(t, "192.0.2.2")
		first := <-all
		result := make(chan error, 1)
		go func() { _, err := s.admit(t.Context(), first); result <- err }()
		synctest.Wait()
		q.come(t, "192.0.2.3")
		if err := <-result; err != ErrTooManyHandshakes {
			t.Errorf("the connection that lost its place: %v", err)
		}
		free()
		_ = (<-all).Close()
		_ = l.Close()
		synctest.Wait()
	})
}
