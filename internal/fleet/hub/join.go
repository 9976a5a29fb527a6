package hub

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"

	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

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
	places, err := members.Places(set.cluster(), j.Hosts)
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
	var c members.Cache
	if err := json.Unmarshal(w.Members, &c.Members); err != nil {
		return fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	if err := c.Write(j.Files, j.Dir); err != nil {
		return err
	}
	if err := smallfile.Write(j.Files, path.Join(j.Dir, hookFile), []byte(w.Hook+"\n")); err != nil {
		return err
	}
	return set.write(j.Files, j.Dir)
}

// takeNats stores the cluster's settings in the directory of a hub that joins.
func takeNats(j JoinOptions, w *pki.WelcomeNats) (*Nats, error) {
	switch {
	case w == nil && j.NatsSettings.IsZero():
		return nil, nil
	case w == nil:
		return nil, fmt.Errorf("cannot join with a NATS cluster: the fleet uses none, and its hubs store the data. "+
			"Join without --nats, with the same token: %w", ErrNoNats)
	case w.Login && j.NatsSettings.Login == nil:
		return nil, errors.New("cannot join without credentials for the NATS cluster of the fleet: each hub has its own. " +
			"Join again with the same token, and with --nats-creds FILE")
	}
	key, err := hex.DecodeString(w.Key)
	if err != nil {
		return nil, fmt.Errorf("cannot read the answer of the hub: %w", err)
	}
	if err := writeNatsKey(j.Files, j.Dir, key); err != nil {
		return nil, err
	}
	g := j.NatsSettings
	if g.CA == nil && w.CA != "" {
		g.CA = []byte(w.CA)
	}
	return giveNats(j.Files, j.Dir, "", &Nats{URLs: w.URLs, Prefix: w.Prefix, Replicas: w.Replicas}, g)
}
