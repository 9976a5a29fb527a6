package hub

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet/bus"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

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
	f := bus.ExternalNats{URLs: g.URLs, Login: g.Login, CA: g.CA, Replicas: g.Replicas, Prefix: "x",
		Key: make([]byte, bus.KeySize)}
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
