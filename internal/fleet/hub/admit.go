package hub

import (
	"crypto/tls"
	"errors"

	"fettle.dev/fettle/internal/fleet/bus"
)

func (h *Hub) isSettled() bool {
	select {
	case <-h.settled:
		return true
	default:
		return false
	}
}

// admit ends connections to the bus of a hub that has only begun before anything is computed
// for them: all agents of a hub that was away come at once, and the handshakes of thousands
// would keep it from ever getting ready. It says nothing to them, since an alert would mean
// that their certificate is not believed. Later it lets some in at a time.
func (h *Hub) admit(hello *tls.ClientHelloInfo) (*tls.Config, error) {
	if !h.isSettled() {
		h.early.Add(1)
		return nil, errors.Join(bus.ErrNotYet, hello.Conn.Close())
	}
	return h.turnstile.Admit(hello)
}
