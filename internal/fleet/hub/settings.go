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
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Default ports. DefaultCluster is for connections between hubs.
const (
	DefaultAPI     = 7440
	DefaultBus     = 7441
	DefaultCluster = 7442
)

// Settings are the contents of hub.json in the directory of a hub.
type Settings struct {
	Format string `json:"format"` // fettle.hub/1
	Fleet  string `json:"fleet"`
	Name   string `json:"name"`
	// API and Bus are the addresses HOST:PORT on which the hub listens.
	API string `json:"api"`
	Bus string `json:"bus"`
	// Cluster is the address HOST:PORT on which the hub listens for other hubs; "" means the
	// default port.
	Cluster string `json:"cluster,omitempty"`
	// Domain is the failure domain of the host, such as a data center; "" means unknown. Hubs of different domains do not
	// fail together.
	Domain string `json:"failure_domain,omitempty"`
	// HubURLs and BusURLs are the URLs that agents use.
	HubURLs []string `json:"hubs"`
	BusURLs []string `json:"buses"`
	// Repository is used at the first start. Later the store contains the setting.
	Repository records.Repository `json:"repository"`
	Retention  Retention          `json:"retention,omitzero"`
	// Requests is the initial policy for requests of agents. Later the store contains the policy.
	Requests map[fleet.RequestKind]fleet.Verdict `json:"requests,omitempty"`
	// Nats is the external NATS cluster for the data, or nil if hubs store it themselves.
	Nats *Nats `json:"nats,omitempty"`
	// OIDC is the provider with which users sign in; nil means none. All hubs of a fleet should have the same one.
	OIDC *OIDC `json:"oidc,omitempty"`
}

func (s Settings) cluster() string { return cmp.Or(s.Cluster, ":"+strconv.Itoa(DefaultCluster)) }

// Repository is the git repository that a fleet follows.
type Repository = records.Repository

// Poll is the default time between two polls of a repository.
const Poll = 30 * time.Second

const settingsFormat = "fettle.hub/1"

// Nats describes an external NATS cluster, which stores the data of a fleet instead of its hubs.
type Nats struct {
	URLs []string `json:"urls"` // tls://HOST:PORT
	// Prefix begins the names of all streams and buckets of this fleet in the cluster.
	Prefix string `json:"prefix"`
	// Replicas is the number of copies of each stream; 0 means 3.
	Replicas int `json:"replicas,omitempty"`
}

// hookFile contains the secret with which a git server signs its webhooks.
const hookFile = "hook-secret"

// ErrExists is wrapped by errors about a directory that already contains a hub.
var ErrExists = errors.New("the directory already contains a hub")

// ReadSettings reads and checks hub.json.
func ReadSettings(files host.FS, dir string) (Settings, error) {
	file := path.Join(dir, "hub.json")
	text, err := smallfile.Read(files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, fmt.Errorf("cannot find a hub in %s: create one with fettle hub init", dir)
	}
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	if err := json.Unmarshal(text, &s); err != nil {
		return Settings{}, fmt.Errorf("cannot read %s: %w", file, err)
	}
	if s.Format != settingsFormat {
		return Settings{}, fmt.Errorf("cannot read %s of the format %.40q: this version of fettle reads %s",
			file, s.Format, settingsFormat)
	}
	return s, errors.Join(fleet.CheckName(s.Name), CheckDomain(s.Domain), s.Retention.check(),
		fleet.CheckAnswers(s.Requests))
}

// CheckDomain returns an error if a name is not possible for a failure domain. "" is possible.
func CheckDomain(name string) error {
	if name == "" || fleet.CheckName(name) == nil {
		return nil
	}
	return fmt.Errorf("cannot use %.60q as a failure domain: a failure domain has letters, digits, dots, - and _, "+
		"and begins and ends with a letter or digit", name)
}

// URLs returns a URL for each name or address, with the port of the listen address.
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

func (s Settings) write(files host.FS, dir string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return smallfile.Write(files, path.Join(dir, "hub.json"), append(text, '\n'))
}
