package hub

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// DefaultCluster is the default port for connections between hubs.
const DefaultCluster = 7442

// JoinOptions describes a new hub of an existing fleet.
type JoinOptions struct {
	InitOptions
	// URL is the URL of a hub with the key of the fleet CA. Token is a token for hubs.
	URL   string
	Token string
}

// Join creates the directory of a new hub of an existing fleet: its keys, its certificates from the
// fleet CA, and the other hubs. After an error it may be called again. If the directory already
// contains a hub, the error wraps ErrExists.
func Join(ctx context.Context, j JoinOptions) (Settings, error) {
	set := j.Settings
	file := path.Join(j.Dir, "hub.json")
	there, err := host.Exists(j.Files, file)
	if err != nil {
		return set, err
	}
	if there {
		return set, fmt.Errorf("cannot create a hub in %s: %w", j.Dir, ErrExists)
	}
	token, err := pki.ParseToken(j.Token)
	if err != nil {
		return set, err
	}
	if err := smallfile.Directory(j.Files, j.Dir); err != nil {
		return set, err
	}
	keys, err := pki.OpenHub(j.Files, path.Join(j.Dir, "keys"))
	if err != nil {
		return set, err
	}
	places, err := Places(set.cluster(), j.Hosts)
	if err != nil {
		return set, err
	}
	w, err := pki.Client{Now: func() time.Time { return time.Now() }}.Join(ctx, j.URL, token, keys,
		pki.JoinRequest{Name: set.Name, Hosts: j.Hosts, HubURLs: set.HubURLs, BusURLs: set.BusURLs, Cluster: places})
	if err != nil {
		return set, err
	}
	set.Fleet, set.Format = w.Fleet, settingsFormat
	return set, settle(j, set, keys, w)
}

// settle writes the directory. It writes hub.json last: after a crash, the directory is not a hub.
func settle(j JoinOptions, set Settings, keys *pki.Hub, w pki.Welcome) error {
	if err := keys.Install([]byte(w.Certificates)); err != nil {
		return err
	}
	var err error
	if set.Nats, err = takeNats(j, w.Nats); err != nil {
		return err
	}
	var c peerCache
	if err := json.Unmarshal(w.Members, &c.Members); err != nil {
		return fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	if err := c.write(j.Files, j.Dir); err != nil {
		return err
	}
	if err := smallfile.Write(j.Files, path.Join(j.Dir, hookFile), []byte(w.Hook+"\n")); err != nil {
		return err
	}
	return set.write(j.Files, j.Dir)
}

// serveJoin handles the request of a new hub to join.
func (h *Hub) serveJoin(w http.ResponseWriter, r *http.Request) { h.registrar.ServeJoin(w, r, h) }

// CheckRoom implements pki.HubRegistry. It accepts a new hub only if all listed hubs are connected and current,
// so hubs join one after the other. Otherwise two hubs without data could form a majority.
func (h *Hub) CheckRoom(ctx context.Context, j pki.JoinRequest, key string) error {
	own, err := h.self()
	if err != nil {
		return err
	}
	if !own.Authority {
		return pki.Refuse(http.StatusConflict, "cannot add a hub: this hub does not have the key of the fleet CA. %s", h.holder())
	}
	if len(j.HubURLs) == 0 || len(j.BusURLs) == 0 || len(j.Cluster) == 0 {
		return pki.Refuse(http.StatusBadRequest, "cannot add a hub without addresses")
	}
	if _, _, goes := h.records.Leaving.Get(j.Name); goes || h.isDistrusted(j.Name) {
		return pki.Refuse(http.StatusConflict,
			"cannot add the hub %q: a hub of that name was retired, and the fleet no longer trusts the name. Choose another name with --name", j.Name)
	}
	if m, _, there := h.records.Members.Get(j.Name); there {
		if m.Key == key {
			return nil // the hub repeats its request, because the first answer was lost
		}
		return pki.Refuse(http.StatusConflict,
			"cannot add the hub %q: a hub of that name exists. Choose another name with --name, or retire the existing hub with fettle hub retire %s", j.Name, j.Name)
	}
	if _, _, lost := h.records.Lost.Get(j.Name); lost {
		return pki.Refuse(http.StatusConflict, "cannot add the hub %q: a lost hub has that name. Choose another name with --name", j.Name)
	}
	if h.peers == nil {
		return h.makeRoom()
	}
	if h.usesExternalNats() {
		return nil // the NATS cluster has the votes and the data
	}
	peers, _ := h.joint().Peers(ctx)
	for _, m := range h.records.Members.Values() {
		is := false
		for _, p := range peers {
			is = is || p.Name == m.Name && p.Reachable && p.Current
		}
		if !is {
			return pki.Refuse(http.StatusConflict,
				"cannot add another hub now: %s is not connected, or its copy of the data is not complete yet. Start it with fettle hub run, or retire it with fettle hub retire %s", m.Name, m.Name)
		}
	}
	return nil
}

func (h *Hub) holder() string {
	for _, m := range h.records.Members.Values() {
		if m.Authority && len(m.HubURLs) > 0 {
			return "Join at " + m.HubURLs[0]
		}
	}
	return "Copy the key back into the directory authority/ of this hub"
}

// makeRoom restarts this hub in the mode with several hubs, and asks the new hub to try again.
func (h *Hub) makeRoom() error {
	h.circling.Lock()
	defer h.circling.Unlock()
	if err := (peerCache{Members: h.records.Members.Values()}).write(h.conf.Files, h.conf.Dir); err != nil {
		return err
	}
	time.AfterFunc(200*time.Millisecond, h.beginAnew) // after the answer was sent
	return pki.Refuse(http.StatusServiceUnavailable, "this hub restarts so that other hubs can join: try again in a few seconds")
}

// Certify implements pki.HubRegistry.
func (h *Hub) Certify(ctx context.Context, j pki.JoinRequest, key, by string) (pki.Welcome, error) {
	root, err := pki.OpenCA(h.conf.Files, h.dir("authority"))
	if err != nil {
		return pki.Welcome{}, err
	}
	certificates, err := root.Certify([]byte(j.Request), j.Name, j.Hosts, h.now())
	if err != nil {
		return pki.Welcome{}, pki.Refuse(http.StatusBadRequest, "%v", err)
	}
	certs, err := pki.ParseCertificates(certificates)
	if err != nil {
		return pki.Welcome{}, err
	}
	// Its certificate is stored before the hub can sign, so that every signature is trusted.
	if _, err := h.records.Buckets["settings"].Put(ctx, "signer/"+j.Name, pki.EncodeCertificates(certs[3])); err != nil {
		return pki.Welcome{}, err
	}
	m := records.Member{Name: j.Name, HubURLs: j.HubURLs, BusURLs: j.BusURLs, Cluster: j.Cluster, Key: key, Joined: h.now().Unix(), By: by}
	if err := h.records.Members.Put(ctx, j.Name, m, 0); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return pki.Welcome{}, err
	}
	h.savePeerCache()
	members, err := json.Marshal(h.records.Members.Values())
	if err != nil {
		return pki.Welcome{}, err
	}
	nats, err := h.welcomeNats()
	if err != nil {
		return pki.Welcome{}, err
	}
	hook, err := smallfile.Read(h.conf.Files, h.dir(hookFile))
	return pki.Welcome{Nats: nats, Certificates: string(certificates), Fleet: h.set.Fleet, Members: members, Hook: string(bytes.TrimSpace(hook))}, err
}
