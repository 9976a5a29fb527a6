package members

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
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

// dismiss records durably that this hub is retired.
func (h *HubSet) dismiss() {
	if err := smallfile.Write(h.Files, h.dir(RetiredFile),
		[]byte("this hub was retired: its fleet no longer trusts it, and this directory can be removed\n")); err != nil {
		h.Warn(err.Error())
	}
}

// IsMember reports whether this hub lists a hub of that name.
func (h *HubSet) IsMember(name string) bool {
	if name == h.Hub {
		return true
	}
	select {
	case <-h.Filled:
		_, _, is := h.Records.Members.Get(name)
		return is
	default:
		return h.peers != nil && slices.ContainsFunc(h.peers.Members, func(m records.Member) bool { return m.Name == name })
	}
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

// tendEvery is the time between two checks of the copies of the store.
const tendEvery = 2 * time.Second

// Tend keeps copies of the store on the present hubs as long as this hub leads. A retired hub is
// removed when it has no copies left.
func (h *HubSet) Tend(ctx context.Context, fence uint64) error {
	said := ""
	for {
		once, stop := context.WithTimeout(ctx, 30*time.Second)
		names := staying(once, h)
		done, err := h.peers == nil || h.ExternalNats, error(nil) // no copies on other hubs
		if !done {
			done, err = h.joint().AdjustCopies(once, names)
		}
		err = errors.Join(err, h.withdraw(once, fence, names, done))
		stop()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			h.Log(said)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(tendEvery):
		}
	}
}

// staying returns the hubs that keep their vote: each listed hub, and each voter that was not
// retired. A new hub may have a vote before this hub reads its record. The store would accept a
// removed hub again only after five minutes.
func staying(ctx context.Context, h *HubSet) (names []string) {
	for _, m := range h.Records.Members.Values() {
		names = append(names, m.Name)
	}
	if h.peers == nil || h.ExternalNats {
		return names
	}
	peers, _ := h.joint().Peers(ctx)
	for _, p := range peers {
		if _, _, leaves := h.Records.Leaving.Get(p.Name); !leaves && !h.isDistrusted(p.Name) &&
			!slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// leaveWithin limits the time for which a retired hub waits until it has no copies left.
const leaveWithin = 5 * time.Minute

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
