package hub

import (
	"fmt"
	"path"
	"time"

	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// InitOptions describes a new hub of a new fleet.
type InitOptions struct {
	Files host.FS
	Dir   string
	Settings
	// Hosts are the names and addresses in its certificate.
	Hosts []string
	Now   time.Time
	// NatsSettings is the external NATS cluster for the data, if any.
	NatsSettings NatsSettings
}

// Init creates the directory of the first hub of a fleet, with the fleet CA, keys, certificates and
// settings. It returns the digest of the fleet CA. If dir contains a hub, it changes nothing.
func Init(b InitOptions) (authority [32]byte, err error) {
	file := path.Join(b.Dir, "hub.json")
	there, err := host.Exists(b.Files, file)
	if err != nil {
		return authority, err
	}
	if there {
		return authority, fmt.Errorf("cannot create a hub in %s: %w", b.Dir, ErrExists)
	}
	if err := smallfile.Directory(b.Files, b.Dir); err != nil {
		return authority, err
	}
	if !b.NatsSettings.IsZero() {
		if b.Nats, err = giveNats(b.Files, b.Dir, b.Fleet, nil, b.NatsSettings); err != nil {
			return authority, err
		}
	}
	root, err := pki.NewCA(b.Files, path.Join(b.Dir, "authority"), b.Fleet, b.Now)
	if err != nil {
		return authority, err
	}
	keys, err := pki.OpenHub(b.Files, path.Join(b.Dir, "keys"))
	if err != nil {
		return authority, err
	}
	jobID, err := keys.Request()
	if err != nil {
		return authority, err
	}
	certificates, err := root.Certify(jobID, b.Name, b.Hosts, b.Now)
	if err != nil {
		return authority, err
	}
	if err := keys.Install(certificates); err != nil {
		return authority, err
	}
	secret := records.NewID() + records.NewID()
	if err := smallfile.Write(b.Files, path.Join(b.Dir, hookFile), []byte(secret+"\n")); err != nil {
		return authority, err
	}
	b.Format = settingsFormat
	return root.Digest(), b.Settings.write(b.Files, b.Dir)
}
