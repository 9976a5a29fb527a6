package agentconn

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

const one, two fleet.TargetID = "aaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbb"

// record is the sequence of calls of a server.
type record struct {
	mu  sync.Mutex
	all []string
}

func (r *record) add(format string, v ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, fmt.Sprintf(format, v...))
}

func (r *record) is(t *testing.T, want ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.all, want) {
		t.Errorf("was told %q, want %q", r.all, want)
	}
	r.all = nil
}

func newServer(t *testing.T, w Watch) (*Server, *record) {
	r := &record{}
	d := NewServer(Config{
		Name: "hub", Watch: w, Warn: func(text string) { r.add("%s", text) },
		Admit:        func(id fleet.TargetID, n uint64) { r.add("admit %s %d", id[:1], n) },
		OnDisconnect: func(n uint64) { r.add("gone %d", n) },
		OnViolation:  func(id fleet.TargetID, why string) { r.add("broke %s: %s", id[:1], why) },
	})
	t.Cleanup(func() { d.Close(0) })
	return d, r
}

func join(t *testing.T, d *Server, id fleet.TargetID, w Watch) (*ClientConn, *record) {
	t.Helper()
	r := &record{}
	j, err := Join(d.Local(id), id, w)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Receive(Down(id, ">"), "", func(m Message) {
		r.add("%s %q %q %v", m.Subject[3+len(id):], m.Reply, m.Body[:min(len(m.Body), 9)], m.NoReceiver)
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(j.Close)
	return j, r
}

// bubble runs a test in virtual time, where synctest.Wait returns when all messages have arrived.
func bubble(t *testing.T, run func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, run)
}

func TestMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, told := newServer(t, Watch{})
		heard := &record{}
		if err := errors.Join(
			d.Receive("f.*.up.q.do", "hubs", func(m Message) {
				heard.add("%s %s", m.Subject, m.Body)
				if err := d.Send(m.Reply, "", []byte("done")); m.Reply != "" && err != nil {
					t.Error(err)
				}
			}),
			d.Receive("f.*.up.q.do", "hubs", func(Message) { t.Error("two of a group heard it") }),
			d.Receive("f.*.up.r.*.*", "", func(m Message) { heard.add("%s %v", m.Subject, m.NoReceiver) }),
		); err != nil {
			t.Fatal(err)
		}
		a, toA := join(t, d, one, Watch{})
		_, toB := join(t, d, two, Watch{})
		if server, n := a.Place(); server != "hub" || n != 1 {
			t.Errorf("it is connection %d of %q", n, server)
		}
		for i := range 3 {
			if err := a.Send(Up(one, "q.do"), Down(one, "r.x.1"), fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(a.Send(Up(one, "q.other"), Down(one, "r.x.2"), nil), a.Send(Up(one, "q.other"), "", nil)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		heard.is(t, Up(one, "q.do")+" 0", Up(one, "q.do")+" 1", Up(one, "q.do")+" 2")
		done := `down.r.x.1 "" "done" false`
		toA.is(t, done, done, done, `down.r.x.2 "" "" true`)
		toB.is(t)
		if err := errors.Join(d.Send(Down(two, "q.hey"), Up(two, "r.x.9"), []byte("you")), d.Send(Down("nobody", "q.hey"), Up("nobody", "r.x.9"), nil), d.Send(Down("nobody", "q.hey"), "", nil)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		toB.is(t, `down.q.hey "`+Up(two, "r.x.9")+`" "you" false`)
		heard.is(t, Up("nobody", "r.x.9")+" true")
		d.Kick(1)
		d.Kick(99)
		synctest.Wait()
		if <-a.Lost(); a.Why() == nil {
			t.Error("it was ended, and gives no reason")
		}
		told.is(t, "admit a 1", "admit b 2", "gone 1")
	})
}

// TestOnlyItsOwn: neither end can send messages of another agent.
func TestOnlyItsOwn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, _ := newServer(t, Watch{})
		a, _ := join(t, d, one, Watch{})
		for _, s := range [][2]string{
			{Up(two, "q.do"), ""}, {Down(one, "q.do"), ""}, {Up(one, "q.*"), ""}, {Up(one, ""), ""}, {"x", ""}, {"", ""},
			{Up(one, "q.do"), Down(two, "r.x.1")}, {Up(one, "q.do"), Up(one, "r.x.1")}, {Up(one, "q.do"), Down(one, ">")},
		} {
			if err := a.Send(s[0], s[1], nil); !errors.Is(err, fleet.ErrDenied) {
				t.Errorf("said %q with an answer to %q: %v", s[0], s[1], err)
			}
		}
		for _, s := range [][2]string{{Up(one, "q.do"), ""}, {Down(one, ">"), ""}, {"x", ""}, {Down(one, "q.do"), Up(two, "r.x.1")}} {
			if err := d.Send(s[0], s[1], nil); err == nil {
				t.Errorf("the hub said %q with an answer to %q", s[0], s[1])
			}
		}
		if err := errors.Join(a.Send(Up(one, "q.do"), "", make([]byte, MaxBody+1)), d.Send(Down(one, "q.do"), "", make([]byte, MaxBody+1))); err == nil {
			t.Error("sent more than a message may have")
		}
		if err := a.Receive(Down(two, ">"), "", nil); !errors.Is(err, fleet.ErrDenied) {
			t.Errorf("heard another one: %v", err)
		}
		if err := a.Receive(Down(one, ">"), "", nil); err == nil {
			t.Error("received twice")
		}
		if err := d.Receive("f.*.down.q.do", "", nil); err == nil {
			t.Error("the hub hears what it says")
		}
	})
}

// TestSilence: an agent that sends or answers stays; otherwise both ends detect the loss.
func TestSilence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, told := newServer(t, Watch{Every: 20 * time.Second, Most: 4})
		a, _ := join(t, d, one, Watch{Every: 30 * time.Second, Most: 3})
		time.Sleep(time.Hour)
		if a.over() || d.Open() != 1 {
			t.Fatal("one that answers is gone")
		}
		dumb := d.Local(two) // receives messages, and sends nothing
		go func() { _, _ = io.Copy(io.Discard, dumb) }()
		begin := time.Now()
		synctest.Wait()
		for d.Open() == 2 {
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if took := time.Since(begin); took < 60*time.Second || took > 81*time.Second {
			t.Errorf("it was noticed after %s", took)
		}
		told.is(t, "admit a 1", "admit b 2", "gone 2")
		if slow, stale := d.Ended(); slow != 0 || stale != 1 {
			t.Errorf("%d were slow, %d stale", slow, stale)
		}

		here, there := net.Pipe()
		go func() {
			_, _ = here.Write(packHello(nil, 7, "hub"))
			_, _ = io.Copy(io.Discard, here)
		}()
		j, err := Join(there, two, Watch{Every: 30 * time.Second, Most: 3})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Receive(Down(two, ">"), "", func(Message) {}); err != nil {
			t.Fatal(err)
		}
		begin = time.Now()
		if <-j.Lost(); !errors.Is(j.Why(), errUnresponsive) || time.Since(begin) != 90*time.Second {
			t.Errorf("a hub that says nothing is noticed after %s: %v", time.Since(begin), j.Why())
		}
	})
}

// TestSlow: an agent that does not read loses its connection, and delays no other agent.
func TestSlow(t *testing.T) {
	for name, c := range map[string]struct {
		messages int
		after    time.Duration
	}{"a little": {1, writeTime}, "too much": {maxWaiting/MaxBody + 5, 0}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d, told := newServer(t, Watch{})
				far := d.Local(one)
				if _, err := io.ReadFull(far, make([]byte, headSize+4)); err != nil {
					t.Fatal(err)
				}
				for range c.messages {
					if err := d.Send(Down(one, "q.do"), "", make([]byte, MaxBody)); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				time.Sleep(c.after)
				synctest.Wait()
				if slow, _ := d.Ended(); slow != 1 || d.Open() != 0 {
					t.Errorf("%d were slow, %d are open", slow, d.Open())
				}
				want := []string{"admit a 1", "gone 1"}
				if c.after == 0 { // a slow network is not a flood
					want = []string{"admit a 1", "broke a: " + brokeFlood, "gone 1"}
				}
				told.is(t, want...)
				_ = far.Close()
			})
		})
	}
}

// TestSlowTogether: the bytes that wait for all agents are limited, and the connections with the
// most waiting bytes are ended. An agent that reads stays, and the waiting bytes of an ended
// connection no longer count.
func TestSlowTogether(t *testing.T) {
	bubble(t, func(t *testing.T) {
		told := &record{}
		d := NewServer(Config{
			Name: "hub", MaxPendingBytes: 10 << 20, Admit: func(fleet.TargetID, uint64) {}, OnDisconnect: func(uint64) {},
			OnViolation: func(id fleet.TargetID, why string) { told.add("%s %s", id[:1], why) },
		})
		t.Cleanup(func() { d.Close(0) })
		id := func(i int) fleet.TargetID { return fleet.TargetID(bytes.Repeat([]byte{'c' + byte(i)}, 26)) }
		for i := range 10 {
			far := d.Local(id(i))
			t.Cleanup(func() { _ = far.Close() })
			if _, err := io.ReadFull(far, make([]byte, headSize+4)); err != nil {
				t.Fatal(err)
			}
		}
		good, _ := join(t, d, one, Watch{})
		for round := range 3 {
			for i := range 10 {
				if err := d.Send(Down(id(i), "q.do"), "", make([]byte, 100<<10*(i+1))); err != nil {
					t.Fatal(err)
				}
				if n := d.held.Load(); n > 10<<20 {
					t.Fatalf("%d bytes wait after %d of round %d", n, i, round)
				}
			}
			if err := d.Send(Down(one, "q.do"), "", []byte("hello")); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if slow, _ := d.Ended(); slow == 0 || slow == 10 || good.over() || d.Open() != 11-int(slow) {
			t.Errorf("%d were slow, %d are open, the good one is out: %v", slow, d.Open(), good.over())
		}
		for _, s := range told.all {
			if s < "h" { // the largest went first
				t.Errorf("was told %q", told.all)
			}
		}
		time.Sleep(writeTime)
		synctest.Wait()
		if n := d.held.Load(); n != 0 || d.Open() != 1 {
			t.Errorf("%d bytes wait for %d agents, of which none is slow", n, d.Open())
		}
	})
}

// TestClose: the connections are ended one after the other.
func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, told := newServer(t, Watch{})
		lost := &record{}
		for _, id := range []fleet.TargetID{one, two, one, two} {
			j, _ := join(t, d, id, Watch{})
			n, began := d.Open(), time.Now()
			go func() { <-j.Lost(); lost.add("%d after %s", n, time.Since(began)) }()
		}
		d.Close(8 * time.Second)
		synctest.Wait()
		told.is(t, "admit a 1", "admit b 2", "admit a 3", "admit b 4", "gone 1", "gone 2", "gone 3", "gone 4")
		lost.is(t, "1 after 2s", "2 after 4s", "3 after 6s", "4 after 8s")
		if _, err := Join(d.Local(one), one, Watch{}); err == nil {
			t.Error("joined at a door that is closed")
		}
		d.Close(0)
	})
}

// TestJoinIsRefused: an invalid hello of a hub is refused.
func TestJoinIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		says []byte
		want error
	}{
		"refused": {appendFrame(nil, kindRefused), ErrRefused}, "a message": {packMessage(nil, "q.do", "", nil), errForm},
		"another protocol": {[]byte("INFO {}\r\n"), errForm}, "nothing": {nil, io.EOF}, "no number": {appendFrame(nil, kindHello, []byte{0x80}), errForm},
	} {
		here, there := net.Pipe()
		go func() { _, _ = here.Write(c.says); _ = here.Close() }()
		if _, err := Join(there, one, Watch{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// plain is a listener whose connections have no TLS.
type plain struct{ conns chan net.Conn }

func (p plain) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p plain) Close() error { close(p.conns); return nil }
func (plain) Addr() net.Addr { return nil }

// TestStrangers: a client without a certificate is refused, and a crowd of them delays others at
// most for the time of a handshake.
func TestStrangers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d, told := newServer(t, Watch{})
		d.config.MaxConnections = 2
		d.config.Identify = func(*tls.ConnectionState) (fleet.TargetID, error) { return "", context.Canceled }
		l := plain{make(chan net.Conn)}
		done := make(chan error)
		go func() { done <- d.Serve(l) }()
		knock := func(wrap func(net.Conn) net.Conn) net.Conn {
			here, there := net.Pipe()
			l.conns <- wrap(here)
			return there
		}
		bare := func(c net.Conn) net.Conn { return c }
		ended := func(c net.Conn) bool { _, err := c.Read(make([]byte, 1)); return errors.Is(err, io.EOF) }
		if !ended(knock(bare)) {
			t.Error("one without TLS was let in")
		}
		synctest.Wait() // until it does not count any more
		secure := func(c net.Conn) net.Conn { return tls.Server(c, &tls.Config{MinVersion: tls.VersionTLS13}) }
		first, second := knock(secure), knock(secure)
		synctest.Wait()
		if !ended(knock(secure)) {
			t.Error("a third one is waited for")
		}
		began := time.Now()
		if !ended(first) || !ended(second) || time.Since(began) != handshakeTime {
			t.Errorf("those who say nothing are gone after %s", time.Since(began))
		}
		told.is(t)
		d.Close(0)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestBadAgent: an agent that violates the protocol is disconnected.
func TestBadAgent(t *testing.T) {
	for name, says := range map[string][]byte{
		"hello": packHello(nil, 1, "hub"), "nobody": appendFrame(nil, kindNobody, []byte("r.x.1")), "refused": appendFrame(nil, kindRefused),
		"another protocol": []byte("CONNECT {}\r\nPING\r\n"), "a pattern": packMessage(nil, "q.*", "", nil), "no message": appendFrame(nil, kindMessage, bytes.Repeat([]byte{0xff}, 20)),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				d, told := newServer(t, Watch{})
				if err := d.Receive("f.*.up.>", "", func(m Message) { t.Errorf("heard %+v", m) }); err != nil {
					t.Fatal(err)
				}
				far := d.Local(one)
				go func() { _, _ = io.Copy(io.Discard, far) }()
				_, _ = far.Write(says)
				synctest.Wait()
				told.is(t, "admit a 1", "broke a: "+brokeForm, "gone 1")
			})
		})
	}
}
