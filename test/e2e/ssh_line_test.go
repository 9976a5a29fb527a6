package e2e

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// line is what lies between the desk and a host: it counts what goes there, and
// breaks where a test says.
type line struct {
	port  int
	to    string
	sent  atomic.Int64 // bytes to the host, of all connections
	after atomic.Int64 // breaks when so much was sent; 0: never
	// silent has a break be one that nobody is told of.
	silent atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
}

// newLine makes a line to the sshd of a host.
func newLine(t *testing.T, m *machine) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	n := &line{to: net.JoinHostPort(m.Addr, "22")}
	n.port, _ = strconv.Atoi(port)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { n.carry(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		n.cut()
		all.Wait()
	})
	return n
}

func (n *line) carry(near net.Conn) {
	far, err := net.Dial("tcp", n.to)
	if err != nil {
		_ = near.Close()
		return
	}
	n.mu.Lock()
	n.conns = append(n.conns, near, far)
	n.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(near, far); _ = near.Close() })
	both.Go(func() { n.count(far, near) })
	both.Wait()
	_ = far.Close()
}

// count carries what goes to the host, byte by byte exactly up to the break.
func (n *line) count(far, near net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		got, err := near.Read(buf)
		after := n.after.Load()
		if room := after - n.sent.Load(); after > 0 && int64(got) >= room {
			_, _ = far.Write(buf[:max(room, 0)])
			n.sent.Add(max(room, 0))
			if n.silent.Load() {
				_, _ = io.Copy(io.Discard, near)
				return
			}
			n.cut()
			return
		}
		if _, werr := far.Write(buf[:got]); err != nil || werr != nil {
			_ = far.Close()
			return
		}
		n.sent.Add(int64(got))
	}
}

// cut breaks all connections.
func (n *line) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.conns {
		_ = c.Close()
	}
	n.conns = nil
}

// breaksAfter has the line break when so many bytes more have gone.
func (n *line) breaksAfter(bytes int64) {
	n.sent.Store(0)
	n.after.Store(bytes)
}

// goesOver has the desk's ssh use the line to a host.
func (d *desk) goesOver(n *line, m *machine) {
	d.t.Helper()
	text := strings.Replace(d.get(".ssh/config"), "HostName "+m.Addr,
		"HostName 127.0.0.1\n  HostKeyAlias "+m.Addr+"\n  Port "+strconv.Itoa(n.port), 1)
	d.put(".ssh/config", text, 0o600)
}
