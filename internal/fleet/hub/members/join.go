package members

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// ServeJoin handles the request of a new hub to join.
func (h *Joining) ServeJoin(w http.ResponseWriter, r *http.Request) { h.Registrar().ServeJoin(w, r, h) }

// CheckRoom implements pki.HubRegistry. It accepts a new hub only if all listed hubs are connected and current,
// so hubs join one after the other. Otherwise two hubs without data could form a majority.
func (h *Joining) CheckRoom(ctx context.Context, j pki.JoinRequest, key string) error {
	own, err := h.self()
	if err != nil {
		return err
	}
	if !own.Authority {
		return pki.Refuse(http.StatusConflict, "cannot add a hub: this hub does not have the key of the fleet CA. %s",
			h.holder())
	}
	if len(j.HubURLs) == 0 || len(j.BusURLs) == 0 || len(j.Cluster) == 0 {
		return pki.Refuse(http.StatusBadRequest, "cannot add a hub without addresses")
	}
	if _, _, goes := h.Records.Leaving.Get(j.Name); goes || h.isDistrusted(j.Name) {
		return pki.Refuse(http.StatusConflict,
			"cannot add the hub %q: a hub of that name was retired, and the fleet no longer trusts the name. "+
				"Choose another name with --name", j.Name)
	}
	if m, _, there := h.Records.Members.Get(j.Name); there {
		if m.Key == key {
			return nil // the hub repeats its request, because the first answer was lost
		}
		return pki.Refuse(http.StatusConflict,
			"cannot add the hub %q: a hub of that name exists. Choose another name with --name, or "+
				"retire the existing hub with fettle hub retire %s", j.Name, j.Name)
	}
	if _, _, lost := h.Records.Lost.Get(j.Name); lost {
		return pki.Refuse(http.StatusConflict,
			"cannot add the hub %q: a lost hub has that name. Choose another name with --name", j.Name)
	}
	if h.peers == nil {
		return h.makeRoom()
	}
	if h.ExternalNats {
		return nil // the NATS cluster has the votes and the data
	}
	peers, _ := h.joint().Peers(ctx)
	for _, m := range h.Records.Members.Values() {
		is := false
		for _, p := range peers {
			is = is || p.Name == m.Name && p.Reachable && p.Current
		}
		if !is {
			return pki.Refuse(http.StatusConflict,
				"cannot add another hub now: %s is not connected, or its copy of the data is not complete yet. "+
					"Start it with fettle hub run, or retire it with fettle hub retire %s", m.Name, m.Name)
		}
	}
	return nil
}

// makeRoom restarts this hub in the mode with several hubs, and asks the new hub to try again.
func (h *Joining) makeRoom() error {
	h.cacheMu.Lock()
	defer h.cacheMu.Unlock()
	if err := (Cache{Members: h.Records.Members.Values()}).Write(h.Files, h.Dir); err != nil {
		return err
	}
	time.AfterFunc(200*time.Millisecond, h.Restart) // after the answer was sent
	return pki.Refuse(http.StatusServiceUnavailable,
		"this hub restarts so that other hubs can join: try again in a few seconds")
}

// Certify implements pki.HubRegistry.
func (h *Joining) Certify(ctx context.Context, j pki.JoinRequest, key, by string) (pki.Welcome, error) {
	root, err := pki.OpenCA(h.Files, h.dir("authority"))
	if err != nil {
		return pki.Welcome{}, err
	}
	certificates, err := root.Certify([]byte(j.Request), j.Name, j.Hosts, h.Now())
	if err != nil {
		return pki.Welcome{}, pki.Refuse(http.StatusBadRequest, "%v", err)
	}
	certs, err := pki.ParseCertificates(certificates)
	if err != nil {
		return pki.Welcome{}, err
	}
	// Its certificate is stored before the hub can sign, so that every signature is trusted.
	if _, err := h.Records.Buckets["settings"].Put(ctx, "signer/"+j.Name, pki.EncodeCertificates(certs[3])); err != nil {
		return pki.Welcome{}, err
	}
	m := records.Member{Name: j.Name, HubURLs: j.HubURLs, BusURLs: j.BusURLs, Cluster: j.Cluster, Key: key,
		Joined: h.Now().Unix(), By: by}
	if err := h.Records.Members.Put(ctx, j.Name, m, 0); err != nil && !errors.Is(err, fleet.ErrConflict) {
		return pki.Welcome{}, err
	}
	h.SaveCache()
	members, err := json.Marshal(h.Records.Members.Values())
	if err != nil {
		return pki.Welcome{}, err
	}
	nats, err := h.Nats()
	if err != nil {
		return pki.Welcome{}, err
	}
	hook, err := smallfile.Read(h.Files, h.HookFile)
	return pki.Welcome{Nats: nats, Certificates: string(certificates), Fleet: h.Fleet, Members: members,
		Hook: string(bytes.TrimSpace(hook))}, err
}

// CheckHubToken returns a refusal if this hub cannot create a token for a new hub.
func (h *Joining) CheckHubToken(r document.TokenRequest) error {
	if own, err := h.self(); r.Hub && err == nil && !own.Authority {
		return &api.Refusal{Status: http.StatusConflict,
			Why:  "cannot create a token for a hub here: this hub does not have the key of the fleet CA",
			Hint: h.holder()}
	}
	return nil
}
