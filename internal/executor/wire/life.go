package wire

import (
	"fmt"
	"time"

	"fettle.dev/fettle/internal/stream"
)

// answerPing sends a pong. If an earlier pong is still being sent, because the other end
// does not read, that pong is enough.
func (c *conn) answerPing() {
	if !c.pong.CompareAndSwap(false, true) {
		return
	}
	go func() {
		_ = c.w.send(frame{kind: typePong})
		c.pong.Store(false)
	}()
}

// watch pings the other end if no frame arrived for that time. It closes the connection if no frame
// arrived for twice that time. It returns when the connection has ended, and at once if the time is 0.
func (c *conn) watch(silence time.Duration) {
	if silence <= 0 {
		return
	}
	c.heard.Now()
	k := stream.Keepalive{Every: silence, Lost: 2 * silence}
	k.Run(c.gone, c.heard, func() { go func() { _ = c.w.send(frame{kind: typePing}) }() },
		func() { c.lose(fmt.Errorf("no data arrived for %s", 2*silence)) })
}
