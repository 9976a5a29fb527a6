package agentconn

import (
	"slices"
	"time"
)

// shares is how many parts the connections are looked at in, one after the other, so that
// not all of them are asked at once.
const shares = 16

// watch looks at all connections again and again until the door is closed.
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

// look is one look at a connection; there is one who looks.
func (g *serverConn) look(most int) {
	switch g.missed.look(g.heard.Swap(false), most) {
	case ask:
		g.add(func(b []byte) []byte { return appendFrame(b, kindPing) })
	case end:
		g.server.stale.Add(1)
		g.dismiss()
	}
}

// conns are those that are let in, sorted by their number.
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

// Close lets nobody in any more, and ends all connections within a time, one after the other:
// those who are sent away go to other hubs, which can take so many at once and no more. It
// waits until all have ended, and may be called again.
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

// pause waits, and tells whether the door is still open.
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
