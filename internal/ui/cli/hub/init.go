package hub

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/ui/cli"
)

func newHubInit(s *cli.Session, h *Hub) *cobra.Command {
	var f hubFlags
	c := &cobra.Command{
		Use:   "init --fleet NAME [--repository URL]",
		Short: "Create a hub and a fleet with its CA",
		Long: `Creates the directory of a hub: its settings, its keys, and the fleet CA that
issues all certificates of the fleet. It starts no server, and never changes
existing files.

Without --repository, the hub assigns nothing. To set the repository later, edit
"url" below "repository" in hub.json in this directory, and restart the hub. The
URL of a fleet cannot be changed after that. Use a host name that can follow a
move of the git server.

Users need port 7440 of the hub (--api), agents 7440 and 7441 (--bus), and other
hubs 7440 and 7442 (--cluster).

The hub runs as the user that owns this directory. By default, root gives
/var/lib/fettle-hub to the system user fettle-hub, which the Debian package
creates. The user must be able to read the files of --key and --known-hosts.

A hub stores all data in this directory, and several hubs store it on each
other. With --nats, the data is stored on an existing NATS cluster, encrypted:
operators of the cluster can withhold the data, but cannot read it. Agents still
connect to the hub.`,
		Example: "  fettle hub init --fleet acme --repository https://git.example.org/site.git\n" +
			"  fettle hub init --fleet acme --address hub.example.org --address 192.0.2.7 --dir /srv/hub\n\n" +
			"  # With the data on a NATS cluster:\n  fettle hub init --fleet acme --nats tls://nats1.example.org:4222 " +
			"--nats tls://nats2.example.org:4222 --nats-creds fettle.creds",
		Args: cli.Args(0, 0),
		RunE: func(*cobra.Command, []string) error { return hubInit(s.Printer, h, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.fleet, "fleet", "", "the `NAME` of the fleet; required")
	flags.StringVar(&f.repository, "repository", "", "follow the git repository at `URL`")
	flags.StringVar(&f.branch, "branch", "main", "follow this `BRANCH` of the repository")
	f.listening(flags)
	cli.SpanVar(flags, &f.poll, "poll", hub.Poll, "check the repository once in this `DURATION`")
	return c
}

func hubInit(s *cli.Printer, h *Hub, f hubFlags) error {
	if h == nil {
		return errors.New("cannot run a hub: this binary was built without support for hubs")
	}
	if f.fleet == "" {
		return cli.Refuse("Name it: fettle hub init --fleet NAME", "cannot create a hub without the name of its fleet")
	}
	b, err := birth(s, f)
	if err != nil {
		return err
	}
	if err := newHubAs(s, h, f.user, b.Dir, f.key, f.known); err != nil {
		return err
	}
	digest, err := h.Init(b)
	if errors.Is(err, hub.ErrExists) {
		return cli.WithHint(err, "Run it: fettle hub run --dir "+b.Dir+
			"\nTo start from scratch, move that directory away. Then every target must be enrolled again.")
	}
	if err != nil {
		return err
	}
	authority := "sha256:" + hex.EncodeToString(digest[:])
	if s.JSON {
		return s.Document(HubDoc{Format: "fettle.hub/1", Dir: b.Dir, Fleet: b.Fleet, Name: b.Name, Authority: authority,
			Hubs: b.HubURLs, Buses: b.BusURLs})
	}
	fmt.Fprintf(s.App.Stdout, `%s is a hub of the fleet %s. Its data is in %s.

  fleet CA    %s
  users       %s
  agents      %s
  repository  %s
%s
Next:
  %s
  fettle token create --uses 10
  fettle agent enrol --hub %s        on each host, with the token
`, b.Name, b.Fleet, b.Dir, authority, b.HubURLs[0], b.BusURLs[0],
		cmp.Or(b.Repository.URL, "none yet: see fettle hub init --help"), natsLine(b), startHub(b.Dir), b.HubURLs[0])
	return nil
}

// HubDoc is a new hub.
type HubDoc struct {
	Format    string   `json:"format"` // fettle.hub/1
	Dir       string   `json:"dir"`
	Fleet     string   `json:"fleet"`
	Name      string   `json:"name"`
	Authority string   `json:"authority"` // sha256 of its certificate
	Hubs      []string `json:"hubs"`
	Buses     []string `json:"buses"`
}

// birth returns the settings of a new hub from the flags.
func birth(s *cli.Printer, f hubFlags) (hub.InitOptions, error) {
	host, err := s.App.Hostname()
	if err != nil && (f.name == "" || len(f.addresses) == 0) {
		return hub.InitOptions{}, cli.WithHint(fmt.Errorf("cannot determine the name of this host: %w", err),
			"Set --name and --address")
	}
	dir, err := filepath.Abs(f.dir)
	if err != nil {
		return hub.InitOptions{}, err
	}
	addresses := f.addresses
	if len(addresses) == 0 {
		addresses = []string{host}
	}
	if err := hub.CheckDomain(f.domain); err != nil {
		return hub.InitOptions{}, cli.WithHint(err, "Write: --failure-domain dc1")
	}
	short, _, _ := strings.Cut(host, ".")
	b := hub.InitOptions{Dir: dir, Hosts: addresses, Now: s.App.Now(), Settings: hub.Settings{
		Fleet: f.fleet, Name: cmp.Or(f.name, short), API: f.api, Bus: f.bus, Cluster: f.cluster,
		Domain: f.domain,
		Repository: hub.Repository{Name: "site", URL: f.repository, Branch: f.branch, Poll: f.poll, Key: f.key,
			Known: f.known},
	}}
	if b.NatsSettings, err = f.nats.given(); err != nil {
		return hub.InitOptions{}, err
	}
	if b.HubURLs, err = hub.URLs("https", f.api, addresses); err == nil {
		b.BusURLs, err = hub.URLs("tls", f.bus, addresses)
	}
	if err != nil {
		return hub.InitOptions{}, cli.WithHint(err, "Give HOST:PORT, or :PORT for every address")
	}
	return b, nil
}
