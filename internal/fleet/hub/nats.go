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

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Nats is a NATS cluster that there is already, on which a fleet keeps everything in place of
// its hubs.
type Nats struct {
	URLs []string `json:"urls"` // tls://HOST:PORT
	// Prefix begins the names of all that is this fleet's there.
	Prefix string `json:"prefix"`
	// Replicas is on how many servers each thing is kept; 0 is 3.
	Replicas int `json:"replicas,omitempty"`
}

// NatsSettings is what a person says of the cluster; what is empty stays what it was.
type NatsSettings struct {
	URLs     []string
	Replicas int
	Login    []byte // a credentials file, USER:PASSWORD, or a certificate with its key as PEM
	CA       []byte // PEM
}

// IsZero tells whether nothing was said.
func (g NatsSettings) IsZero() bool {
	return len(g.URLs) == 0 && g.Replicas == 0 && g.Login == nil && g.CA == nil
}

// Check says what is wrong with what was said, as far as that can be told without the cluster.
func (g NatsSettings) Check() error {
	f := bus.Foreign{URLs: g.URLs, Login: g.Login, CA: g.CA, Replicas: g.Replicas, Prefix: "x", Key: make([]byte, bus.KeySize)}
	if len(f.URLs) == 0 {
		f.URLs = []string{"tls://localhost"} // it is known already
	}
	return f.Check()
}

// What a hub has in its directory for a NATS cluster, each for its owner alone.
const (
	natsLogin = "nats.creds"
	natsCA    = "nats-ca.pem"
	natsKey   = "nats.key" // what is kept there is sealed with it; all hubs of a fleet have it
)

// natsPrefix begins the names of what is a fleet's.
func natsPrefix(fleet string) string { return "fettle-" + fleet }

// ErrNoNats is in the chain of the error about a hub that keeps everything itself.
var ErrNoNats = errors.New("this hub keeps everything itself, and uses no NATS cluster")

// giveNats writes what a directory has for a NATS cluster, and gives the settings. The key is made
// where there is none.
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
		_, _ = rand.Read(f.Key) // it never fails: crypto/rand
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

// foreign is the cluster as the bus wants it, with what the directory has.
func (n Nats) foreign(files host.FS, dir string) (*bus.Foreign, error) {
	f := &bus.Foreign{URLs: n.URLs, Prefix: n.Prefix, Replicas: n.Replicas}
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
		return nil, fmt.Errorf("cannot read %s: it is %d bytes as hex", path.Join(dir, natsKey), bus.KeySize)
	}
	return f, nil
}

// UseNats changes how the hub of a directory reaches its NATS cluster. With begin it may be one
// that kept everything itself: what it kept is not brought there, so that is for a directory that
// was just restored.
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

// isForeign tells whether everything is kept on a NATS cluster of others.
func (h *Hub) isForeign() bool { return h.set.Nats != nil }

// foreign is that cluster, nil where there is none.
func (h *Hub) foreign() (*bus.Foreign, error) {
	if !h.isForeign() {
		return nil, nil
	}
	return h.set.Nats.foreign(h.conf.Files, h.conf.Dir)
}

// welcomeNats is what a hub that joins has to know of the cluster. Credentials are not in it: each
// hub has its own, so that they can be taken from one.
func (h *Hub) welcomeNats() (*pki.WelcomeNats, error) {
	f, err := h.foreign()
	if f == nil || err != nil {
		return nil, err
	}
	return &pki.WelcomeNats{URLs: f.URLs, Prefix: f.Prefix, Replicas: f.Replicas, CA: string(f.CA), Key: hex.EncodeToString(f.Key), Login: len(f.Login) > 0}, nil
}

// takeNats is what a hub that joins does with it.
func takeNats(j Joining, w *pki.WelcomeNats) (*Nats, error) {
	switch {
	case w == nil && j.NatsSettings.IsZero():
		return nil, nil
	case w == nil:
		return nil, fmt.Errorf("cannot join with a NATS cluster: the fleet uses none, and its hubs keep everything. Join without --nats, with the same token: %w", ErrNoNats)
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
