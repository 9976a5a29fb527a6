package hub

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// peerCache contains the members of the fleet at the last run of a hub. It needs them to find its fleet.
type peerCache struct {
	Format  string           `json:"format"` // fettle.circle/1
	Members []records.Member `json:"members"`
}

const (
	peerCacheFile   = "hubs.json"
	peerCacheFormat = "fettle.circle/1"
	// retiredFile exists if this hub has left its fleet. The systemd unit checks it too.
	retiredFile = "retired"
)

// ErrRetired is wrapped by the error of a hub that has left its fleet.
var ErrRetired = errors.New("this hub was retired")

// readPeerCache reads the peer cache. It returns nil for a hub that is alone.
func readPeerCache(files host.FS, dir string) (*peerCache, error) {
	if is, err := host.Exists(files, host.JoinPath(dir, retiredFile)); err != nil || is {
		return nil, cmp.Or(err,
			fmt.Errorf("cannot run: %w. To use this host as a hub again, move %s away and join with a new token", ErrRetired, dir))
	}
	file := host.JoinPath(dir, peerCacheFile)
	text, err := smallfile.Read(files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var c peerCache
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c.Format != peerCacheFormat {
		err = fmt.Errorf("its format is %.40q", c.Format)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	return &c, nil
}

func (c peerCache) write(files host.FS, dir string) error {
	c.Format = peerCacheFormat
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	file := host.JoinPath(dir, peerCacheFile)
	if was, err := smallfile.Read(files, file); err == nil && bytes.Equal(was, append(text, '\n')) {
		return nil
	}
	return smallfile.Write(files, file, append(text, '\n'))
}

// self returns the record of this hub for the shared settings.
func (h *Hub) self() (records.Member, error) {
	holds, err := host.Exists(h.conf.Files, host.JoinPath(h.dir("authority"), "authority.key"))
	m := records.Member{Name: h.set.Name, HubURLs: h.set.HubURLs, BusURLs: h.set.BusURLs, Authority: holds, Joined: h.now().Unix()}
	if err != nil {
		return m, err
	}
	var hosts []string
	for _, u := range h.set.BusURLs {
		hosts = append(hosts, hostOf(u))
	}
	m.Cluster, err = Places(h.set.cluster(), hosts)
	return m, err
}

// onMember updates the peer cache after a change, and sends the addresses of hubs to agents.
func (h *Hub) onMember(key string, _ records.Member, _ uint64, gone bool) {
	select {
	case <-h.mirrorsFilled:
	default:
		return // the mirror reads existing entries
	}
	if gone && key == h.set.Name {
		h.dismissOnce.Do(func() { close(h.dismissed) })
		return
	}
	h.savePeerCache()
	h.sendHubAddresses()
}

// savePeerCache writes the peer cache of a hub that is not alone.
func (h *Hub) savePeerCache() {
	h.circling.Lock()
	defer h.circling.Unlock()
	if h.peers == nil {
		return
	}
	if err := (peerCache{Members: h.records.Members.Values()}).write(h.conf.Files, h.conf.Dir); err != nil {
		h.warn("cannot store the list of hubs: " + err.Error())
	}
}

// dismiss records durably that this hub is retired.
func (h *Hub) dismiss() {
	if err := smallfile.Write(h.conf.Files, h.dir(retiredFile),
		[]byte("this hub was retired: its fleet no longer trusts it, and this directory can be removed\n")); err != nil {
		h.conf.warn(err.Error())
	}
}

// isMember reports whether this hub lists a hub of that name.
func (h *Hub) isMember(name string) bool {
	if name == h.set.Name {
		return true
	}
	select {
	case <-h.mirrorsFilled:
		_, _, is := h.records.Members.Get(name)
		return is
	default:
		return h.peers != nil && slices.ContainsFunc(h.peers.Members, func(m records.Member) bool { return m.Name == name })
	}
}

// mayConnect reports whether a hub that is not revoked may connect to this one. A starting hub has
// not read the list of hubs yet, and may have been restored from a snapshot older than all other
// hubs. It needs a connection to read the list, and the other end checks the list.
func (h *Hub) mayConnect(name string) bool {
	select {
	case <-h.mirrorsFilled:
		return h.isMember(name)
	default:
		return true
	}
}

// cluster returns the connections to the other hubs, or nil for a hub that is alone.
func (h *Hub) cluster(trust pki.Trust) *bus.Cluster {
	if h.peers == nil || h.usesExternalNats() {
		return nil
	}
	c := &bus.Cluster{
		Name: h.set.Fleet, Listen: h.set.cluster(), TLS: trust.HubTLS(h.keys.TLS, h.now), Files: h.conf.Files, Peers: []string{h.set.Name},
		Identify: func(s *tls.ConnectionState) error {
			p, err := trust.PeerOf(s, h.now(), pki.HubKind)
			if err == nil && !h.mayConnect(p.Name.ID) {
				err = fmt.Errorf("cannot accept the connection of %s: it is not in this fleet any longer", p.Name)
			}
			return err
		},
	}
	for _, m := range h.peers.Members {
		if m.Name != h.set.Name {
			c.Peers, c.Routes = append(c.Peers, m.Name), append(c.Routes, m.Cluster...)
		}
	}
	return c
}

// tendEvery is the time between two checks of the copies of the store.
const tendEvery = 2 * time.Second

// tend keeps copies of the store on the present hubs as long as this hub leads. A retired hub is
// removed when it has no copies left.
func (h *Hub) tend(ctx context.Context, fence uint64) error {
	said := ""
	for {
		once, stop := context.WithTimeout(ctx, 30*time.Second)
		names := staying(once, h)
		done, err := h.peers == nil || h.usesExternalNats(), error(nil) // no copies on other hubs
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
			h.warn(said)
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
func staying(ctx context.Context, h *Hub) (names []string) {
	for _, m := range h.records.Members.Values() {
		names = append(names, m.Name)
	}
	if h.peers == nil || h.usesExternalNats() {
		return names
	}
	peers, _ := h.joint().Peers(ctx)
	for _, p := range peers {
		if _, _, leaves := h.records.Leaving.Get(p.Name); !leaves && !h.isDistrusted(p.Name) && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// leaveWithin limits the time for which a retired hub waits until it has no copies left.
const leaveWithin = 5 * time.Minute

// leave waits until this hub is retired. Then it waits for the copies on other hubs and returns
// ErrRetired.
func (h *Hub) leave(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.dismissed:
	}
	h.dismiss()
	h.conf.warn("this hub was retired: it stops when the other hubs have all data")
	for end := time.Now().Add(leaveWithin); time.Now().Before(end) && !h.joint().IsRemoved(); {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
	return ErrRetired
}

// unlessDismissed returns a context that also ends when this hub is retired.
func (h *Hub) unlessDismissed(ctx context.Context) (context.Context, context.CancelFunc) {
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

// hubAddresses returns the URLs of all hubs and of their buses, this hub first.
func (h *Hub) hubAddresses() (hubs, buses []string) {
	hubs, buses = slices.Clone(h.set.HubURLs), slices.Clone(h.set.BusURLs)
	for _, m := range h.records.Members.Values() {
		if m.Name != h.set.Name {
			hubs, buses = append(hubs, m.HubURLs...), append(buses, m.BusURLs...)
		}
	}
	return hubs, buses
}

// hostOf returns the host of a URL.
func hostOf(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		rest = rest[:i]
	}
	return strings.Trim(rest, "[]")
}

// joint is the bus of a hub that is not alone. *bus.Server implements it.
type joint interface {
	Peers(ctx context.Context) (all []bus.Peer, leader string)
	Copies(ctx context.Context) ([]bus.CopySet, error)
	AdjustCopies(ctx context.Context, names []string) (done bool, err error)
	IsRemoved() bool
	IsConnected(name string) bool
	Unresponsive(ctx context.Context, names []string) []string
	Voters() int
	Exchange() *bus.Exchange
}

var _ joint = (*bus.Server)(nil)

// joint returns the bus of a hub that is not alone. For other hubs it panics.
func (h *Hub) joint() joint { return h.bus.(joint) }
