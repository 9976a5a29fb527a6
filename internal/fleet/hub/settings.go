package hub

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"strconv"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/repo"
)

// The default ports.
const (
	DefaultAPI = 7440
	DefaultBus = 7441
)

// Settings are what one hub is: hub.json in its directory.
type Settings struct {
	Format string `json:"format"` // fettle.hub/1
	Fleet  string `json:"fleet"`
	Name   string `json:"name"`
	// API and Bus are HOST:PORT to listen on.
	API string `json:"api"`
	Bus string `json:"bus"`
	// Cluster is HOST:PORT to listen on for other hubs, where there are any; "" is the
	// default port.
	Cluster string `json:"cluster,omitempty"`
	// Hubs and Buses are the URLs that agents are told.
	Hubs  []string `json:"hubs"`
	Buses []string `json:"buses"`
	// Repository is followed from the first start on; later it stands in the store.
	Repository Repository `json:"repository"`
	Retention  Retention  `json:"retention,omitzero"`
	// Requests is the initial policy for requests of agents; later it is stored
	// in the store.
	Requests map[fleet.RequestKind]fleet.Verdict `json:"requests,omitempty"`
	// Nats is where everything is kept, nil for what hubs keep themselves.
	Nats *Nats `json:"nats,omitempty"`
}

// Repository is what a fleet follows.
type Repository struct {
	Name   string        `json:"name"`
	URL    string        `json:"url"`
	Branch string        `json:"branch"`
	Poll   time.Duration `json:"poll_ns"`
	// Key is the file of a private key for SSH, Known that of the host keys that are
	// believed; "" are those of the user that the hub runs as.
	Key   string `json:"key,omitempty"`
	Known string `json:"known,omitempty"`
}

func (r Repository) access() repo.Access { return repo.Access{Key: r.Key, KnownHosts: r.Known} }

func (s Settings) cluster() string { return cmp.Or(s.Cluster, ":"+strconv.Itoa(DefaultCluster)) }

// Places are HOST:PORT at which a server that listens is reached by some names or addresses.
func Places(listen string, names []string) ([]string, error) {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", listen, err)
	}
	var out []string
	for _, n := range names {
		out = append(out, net.JoinHostPort(n, port))
	}
	return out, nil
}

const settingsFormat = "fettle.hub/1"

// Birth says what a new hub is to be.
type Birth struct {
	Files host.FS
	Dir   string
	Settings
	// Hosts are the names and addresses in its certificate.
	Hosts []string
	Now   time.Time
	// NatsSettings is the NATS cluster on which everything is to be kept, if any.
	NatsSettings NatsSettings
}

// hookFile holds the secret with which a git server proves its hooks.
const hookFile = "hook-secret"

// ErrExists is in the chain of the error of Init about a directory that has a hub already.
var ErrExists = errors.New("there is a hub already")

// Init makes a hub and its fleet's authority in a directory: keys, certificates, settings. It
// gives the digest of the authority. It changes nothing where there is one already.
func Init(b Birth) (authority [32]byte, err error) {
	file := path.Join(b.Dir, "hub.json")
	there, err := host.Exists(b.Files, file)
	if err != nil {
		return authority, err
	}
	if there {
		return authority, fmt.Errorf("cannot make a hub in %s: %w", b.Dir, ErrExists)
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
	secret := newID() + newID()
	if err := smallfile.Write(b.Files, path.Join(b.Dir, hookFile), []byte(secret+"\n")); err != nil {
		return authority, err
	}
	b.Format = settingsFormat
	return root.Digest(), b.Settings.write(b.Files, b.Dir)
}

// ReadSettings reads hub.json of a directory.
func ReadSettings(files host.FS, dir string) (Settings, error) {
	file := path.Join(dir, "hub.json")
	text, err := smallfile.Read(files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, fmt.Errorf("cannot find a hub in %s: make one with fettle hub init", dir)
	}
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return Settings{}, fmt.Errorf("cannot read %s: %w", file, err)
	}
	if s.Format != settingsFormat {
		return Settings{}, fmt.Errorf("cannot read %s of the format %.40q: this program knows %s", file, s.Format, settingsFormat)
	}
	return s, errors.Join(fleet.CheckName(s.Name), s.Retention.check(), fleet.CheckAnswers(s.Requests))
}

// URLs are those at which a server that listens on HOST:PORT is reached by some names or
// addresses.
func URLs(scheme, listen string, names []string) ([]string, error) {
	_, port, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w", listen, err)
	}
	var urls []string
	for _, n := range names {
		urls = append(urls, scheme+"://"+net.JoinHostPort(n, port))
	}
	return urls, nil
}
