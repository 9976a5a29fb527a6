package agentconn

import (
	"slices"
	"time"
)

// shares is the number of parts into which the connections are divided. The parts are checked one
// after the other, so that not all agents are pinged at the same moment.
const shares = 16

// watch checks all connections periodically until the server is closed.
func (d *Server) watch() {
	if d.config.Watch.Every <= 0 {
		return
	}
	tick := time.NewTicker(d.config.Watch.Every / shares)
	defer tick.Stop()
	for share := uint64(0); ; share = (share + 1) % shares {
		select {
		case <-d.life.Done():
			return
		case <-tick.C:
		}
		for _, g := range d.conns(func(g *serverConn) bool { return g.number%shares == share }) {
			g.look(d.config.Watch.Most)
		}
	}
}

// look checks one connection. Only watch calls it.
func (g *serverConn) look(most int) {
	switch g.missed.look(g.heard.Swap(false), most) {
	case ask:
		g.add(func(b []byte) []byte { return appendFrame(b, kindPing) })
	case end:
		g.server.stale.Add(1)
		g.dismiss()
	}
}

// conns returns the accepted connections that match, sorted by number.
func (d *Server) conns(which func(*serverConn) bool) []*serverConn {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []*serverConn
	for _, g := range d.all {
		if which(g) {
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b *serverConn) int { return int(int64(a.number) - int64(b.number)) })
	return out
}

// Close stops accepting connections, and ends all connections one after the other within the time
// over: their agents connect to other hubs, which can accept only so many at once. It waits until
// all have ended, and may be called again.
func (d *Server) Close(over time.Duration) {
	d.mu.Lock()
	again := d.closed
	d.closed = true
	l := d.listener
	d.mu.Unlock()
	if again {
		return
	}
	if l != nil {
		_ = l.Close()
	}
	all := d.conns(func(*serverConn) bool { return true })
	for _, g := range all {
		if over > 0 {
			d.pause(over / time.Duration(len(all)))
		}
		g.dismiss()
	}
	d.end()
	d.connGroup.Wait()
	if d.parking != nil {
		d.parking.Close()
	}
}

// pause waits, and returns false if the server is closed.
func (d *Server) pause(t time.Duration) bool {
	timer := time.NewTimer(t)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-d.life.Done():
		return false
	}
}
