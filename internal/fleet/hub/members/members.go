package members

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
)

// OnMember updates the peer cache after a change, and sends the addresses of hubs to agents.
func (h *HubSet) OnMember(key string, _ records.Member, _ uint64, gone bool) {
	select {
	case <-h.Filled:
	default:
		return // the mirror reads existing entries
	}
	if gone && key == h.Hub {
		h.dismissOnce.Do(func() { close(h.dismissed) })
		return
	}
	h.SaveCache()
	h.sendHubAddresses()
}

// mayConnect reports whether a hub that is not revoked may connect to this one. A starting hub has
// not read the list of hubs yet, and may have been restored from a snapshot older than all other
// hubs. It needs a connection to read the list, and the other end checks the list.
func (h *HubSet) mayConnect(name string) bool {
	select {
	case <-h.Filled:
		return h.IsMember(name)
	default:
		return true
	}
}

// Cluster returns the connections to the other hubs, or nil for a hub that is alone.
func (h *HubSet) Cluster(trust pki.Trust) *bus.Cluster {
	if h.peers == nil || h.ExternalNats {
		return nil
	}
	c := &bus.Cluster{
		Name: h.Fleet, Listen: h.Listen, TLS: trust.HubTLS(h.Keys.TLS, h.Now), Files: h.Files, Peers: []string{h.Hub},
		Identify: func(s *tls.ConnectionState) error {
			p, err := trust.PeerOf(s, h.Now(), pki.HubKind)
			if err == nil && !h.mayConnect(p.Name.ID) {
				err = fmt.Errorf("cannot accept the connection of %s: it is not in this fleet any longer", p.Name)
			}
			return err
		},
	}
	for _, m := range h.peers.Members {
		if m.Name != h.Hub {
			c.Peers, c.Routes = append(c.Peers, m.Name), append(c.Routes, m.Cluster...)
		}
	}
	return c
}

// leaveWithin limits the time for which a retired hub waits until it has no agents and no copies left.
const leaveWithin = 10 * time.Minute

// Leave waits until this hub is retired. Then it waits for the copies on other hubs and returns
// ErrRetired.
func (h *HubSet) Leave(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.dismissed:
	}
	h.dismiss()
	h.Warn("this hub was retired: it stops when the other hubs have all data")
	for end := time.Now().Add(leaveWithin); time.Now().Before(end) && !h.joint().IsRemoved(); {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
	return ErrRetired
}

// UnlessDismissed returns a context that also ends when this hub is retired.
func (h *HubSet) UnlessDismissed(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-h.dismissed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
