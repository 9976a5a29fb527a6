package hub

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/host"
)

// Nats describes an external NATS cluster, which stores the data of a fleet instead of its hubs.
type Nats struct {
	URLs []string `json:"urls"` // tls://HOST:PORT
	// Prefix begins the names of all streams and buckets of this fleet in the cluster.
	Prefix string `json:"prefix"`
	// Replicas is the number of copies of each stream; 0 means 3.
	Replicas int `json:"replicas,omitempty"`
}

// NatsSettings are the settings that a user gives for the cluster. Empty fields keep their value.
type NatsSettings struct {
	URLs     []string
	Replicas int
	Login    []byte // a credentials file, USER:PASSWORD, or a certificate with its key as PEM
	CA       []byte // PEM
}

// IsZero reports whether the user gave no setting.
func (g NatsSettings) IsZero() bool {
	return len(g.URLs) == 0 && g.Replicas == 0 && g.Login == nil && g.CA == nil
}

// Check returns an error for settings that are wrong in themselves. It does not connect to the
// cluster.
func (g NatsSettings) Check() error {
	f := bus.ExternalNats{URLs: g.URLs, Login: g.Login, CA: g.CA, Replicas: g.Replicas, Prefix: "x", Key: make([]byte, bus.KeySize)}
	if len(f.URLs) == 0 {
		f.URLs = []string{"tls://localhost"} // the URLs are set already
	}
	return f.Check()
}

// Files in the directory of a hub for a NATS cluster, readable only by their owner.
const (
	natsLogin = "nats.creds"
	natsCA    = "nats-ca.pem"
	natsKey   = "nats.key" // encrypts all data in the cluster; all hubs of a fleet have the same key
)

// natsPrefix returns the prefix of the names of a fleet in a NATS cluster.
func natsPrefix(fleet string) string { return "fettle-" + fleet }

// ErrNoNats is wrapped by errors about a hub without an external NATS cluster.
var ErrNoNats = errors.New("this hub stores its data itself, without an external NATS cluster")

// giveNats writes the files for a NATS cluster into a directory, and returns the changed settings.
// If the directory has no key, giveNats creates one.
func giveNats(files host.FS, dir, fleet string, was *Nats, g NatsSettings) (*Nats, error) {
	n := Nats{Prefix: natsPrefix(fleet)}
	if was != nil {
		n = *was
	}
	if len(g.URLs) > 0 {
		n.URLs = g.URLs
	}
	if g.Replicas != 0 {
		n.Replicas = g.Replicas
	}
	f, err := n.foreign(files, dir)
	if err != nil {
		return nil, err
	}
	born := f.Key == nil
	if born {
		f.Key = make([]byte, bus.KeySize)
		_, _ = rand.Read(f.Key) // crypto/rand never fails
	}
	if g.Login != nil {
		f.Login = g.Login
	}
	if g.CA != nil {
		f.CA = g.CA
	}
	if err := f.Check(); err != nil {
		return nil, err
	}
	if born {
		err = writeNatsKey(files, dir, f.Key)
	}
	if g.Login != nil && err == nil {
		err = smallfile.Write(files, path.Join(dir, natsLogin), g.Login)
	}
	if g.CA != nil && err == nil {
		err = smallfile.Write(files, path.Join(dir, natsCA), g.CA)
	}
	return &n, err
}

func writeNatsKey(files host.FS, dir string, key []byte) error {
	return smallfile.Write(files, path.Join(dir, natsKey), []byte(hex.EncodeToString(key)+"\n"))
}

// foreign returns the configuration of the cluster for the bus, with the files of the directory.
func (n Nats) foreign(files host.FS, dir string) (*bus.ExternalNats, error) {
	f := &bus.ExternalNats{URLs: n.URLs, Prefix: n.Prefix, Replicas: n.Replicas}
	var key []byte
	for name, to := range map[string]*[]byte{natsLogin: &f.Login, natsCA: &f.CA, natsKey: &key} {
		text, err := smallfile.Read(files, path.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		*to = text
	}
	if key == nil {
		return f, nil
	}
	var err error
	if f.Key, err = hex.DecodeString(strings.TrimSpace(string(key))); err != nil {
		return nil, fmt.Errorf("cannot read %s: a key has %d bytes in hex", path.Join(dir, natsKey), bus.KeySize)
	}
	return f, nil
}

// UseNats changes how the hub of a directory reaches its NATS cluster. With begin, the hub may have
// stored its data itself until now. UseNats does not copy data, so begin is for a directory that
// was just restored from a backup.
func UseNats(files host.FS, dir string, g NatsSettings, begin bool) error {
	set, err := ReadSettings(files, dir)
	if err != nil {
		return err
	}
	if set.Nats == nil && !begin {
		return fmt.Errorf("cannot move to a NATS cluster: %w", ErrNoNats)
	}
	if set.Nats, err = giveNats(files, dir, set.Fleet, set.Nats, g); err != nil {
		return err
	}
	return set.write(files, dir)
}

func (s Settings) write(files host.FS, dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return smallfile.Write(files, path.Join(dir, "hub.json"), append(text, '\n'))
}

// usesExternalNats reports whether an external NATS cluster stores the data.
func (h *Hub) usesExternalNats() bool { return h.set.Nats != nil }

// foreign returns the configuration of that cluster, or nil without one.
func (h *Hub) foreign() (*bus.ExternalNats, error) {
	if !h.usesExternalNats() {
		return nil, nil
	}
	return h.set.Nats.foreign(h.conf.Files, h.conf.Dir)
}

// welcomeNats returns the cluster's settings for a hub that joins. They contain no credentials:
// each hub has its own, so that an operator can revoke them separately.
func (h *Hub) welcomeNats() (*pki.WelcomeNats, error) {
	f, err := h.foreign()
	if f == nil || err != nil {
		return nil, err
	}
	return &pki.WelcomeNats{URLs: f.URLs, Prefix: f.Prefix, Replicas: f.Replicas, CA: string(f.CA), Key: hex.EncodeToString(f.Key), Login: len(f.Login) > 0}, nil
}

// takeNats stores the cluster's settings in the directory of a hub that joins.
func takeNats(j JoinOptions, w *pki.WelcomeNats) (*Nats, error) {
	switch {
	case w == nil && j.NatsSettings.IsZero():
		return nil, nil
	case w == nil:
		return nil, fmt.Errorf("cannot join with a NATS cluster: the fleet uses none, and its hubs store the data. Join without --nats, with the same token: %w", ErrNoNats)
	case w.Login && j.NatsSettings.Login == nil:
		return nil, errors.New("cannot join without credentials for the NATS cluster of the fleet: each hub has its own. Join again with the same token, and with --nats-creds FILE")
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

// membersConfig returns the dependencies of the set of hubs.
func (h *Hub) membersConfig() members.Config {
	return members.Config{
		Identity: members.Identity{Hub: h.set.Name, Fleet: h.set.Fleet, HubURLs: h.set.HubURLs, BusURLs: h.set.BusURLs,
			Listen: h.set.cluster(), ExternalNats: h.usesExternalNats(), Files: h.conf.Files, Dir: h.conf.Dir,
			HookFile: h.dir(hookFile), Keys: h.keys, Revoked: h.revoked},
		Now: h.now, Warn: h.conf.warn, Context: h.context, Filled: h.mirrorsFilled, Records: &h.records,
		Events: func() events.Recorder { return h.events }, View: func() *view.View { return h.view },
		Bus: func() any { return h.bus }, Exchange: func() fleet.Exchange { return h.exchange },
		Registrar: func() *pki.Registrar { return h.registrar },
		Sign:      h.signAll, Nats: h.welcomeNats, ForgetKeys: h.ring.forget, Restart: h.beginAnew,
	}
}
