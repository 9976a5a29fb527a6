package wire

import (
	"fmt"
	"time"
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

// watch pings the other end if no frame arrived for every. It closes the connection if no
// frame arrived for dead after that. It returns when the connection has ended.
func (c *conn) watch(every, dead time.Duration) {
	silent := time.NewTimer(every)
	defer silent.Stop()
	asked := false
	for {
		select {
		case <-c.gone:
			return
		case <-c.heard:
			asked = false
			silent.Reset(every)
		case <-silent.C:
			if asked {
				c.lose(fmt.Errorf("no data arrived for %s", every+dead))
				return
			}
			asked = true
			silent.Reset(dead)
			go func() { _ = c.w.send(frame{kind: typePing}) }()
		}
	}
}
