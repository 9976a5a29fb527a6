package wire

import (
	"fmt"
	"time"
)

// answerPing sends a sign of life. Where one is on its way, because nobody reads, that
// one will do.
func (c *conn) answerPing() {
	if !c.pong.CompareAndSwap(false, true) {
		return
	}
	go func() {
		_ = c.w.send(frame{kind: typePong})
		c.pong.Store(false)
	}()
}

// watch asks for a sign of life when nothing came for every, and gives the
// connection up when nothing came for dead after that. It returns when the
// connection is gone.
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
				c.lose(fmt.Errorf("nothing was heard for %s", every+dead))
				return
			}
			asked = true
			silent.Reset(dead)
			go func() { _ = c.w.send(frame{kind: typePing}) }()
		}
	}
}
