// Package fleet has the commands for a fleet: for its hubs, targets, jobs and approvals.
//
//	cli.Group{Commands: []cli.NewCommand{fleet.NewTarget, fleet.NewJob}}
package fleet

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// hubDir is where a hub keeps all that it has.
const hubDir = "/var/lib/fettle-hub"

// Hub is this program as a hub.
type Hub struct {
	// Give gives the directory of a hub to a user, see owner.Give.
	Give func(dir, user string) (int, error)
	// NewAs makes the directory of a new hub for a user, and continues as this user.
	NewAs func(dir, user string) error
	// RunAs continues as the owner of the directory of a hub, if root runs it. owner.ErrRoot is in
	// the chain of the error about a service of root.
	RunAs func(dir, socket string) error
	// Init makes one, see hub.Init; it gives the digest of the authority.
	Init func(b hub.InitOptions) ([32]byte, error)
	// Join makes one of a fleet that there is, see hub.Join.
	Join func(ctx context.Context, j hub.JoinOptions) (hub.Settings, error)
	// Serving notifies the service manager, if there is one, that the hub serves, or that it stopped
	// serving and tries again. The service is not active before the first call.
	Serving func(serves bool)
	// Run runs one until ctx ends.
	Run func(ctx context.Context, r HubRun) error
	// Backup and Restore save a directory and make it again, see hub.WriteBackup and
	// hub.Restore.
	Backup  func(dir string, state document.HubState, out io.Writer) error
	Restore func(dir string, in io.Reader) (hub.Settings, error)
	// UseNats changes how a hub reaches its NATS cluster, see hub.UseNats.
	UseNats func(dir string, g hub.NatsSettings, begin bool) error
}

// HubRun is how a hub runs.
type HubRun struct {
	Dir    string
	Socket string
	// Ready is called each time that the hub begins to serve, with the addresses that it listens on.
	// Stopped is called each time that it stops serving for some time.
	Ready   func(api, bus fmt.Stringer)
	Stopped func()
	Warn    func(text string)
	nats    natsFlags
}

// NewHub is fettle hub; h runs this binary as a hub, and nil means that it cannot.
func NewHub(s *cli.Session, h *Hub) *cobra.Command {
	c := &cobra.Command{
		Use:   "hub",
		Short: "Run and manage hubs",
		Long: `Runs and manages hubs. A hub follows a repository, assigns the desired state to
each target of a fleet, and shows the state of the targets. The fettle binary
contains everything that a hub needs, and one directory contains all its data.
Targets get their assignments from the hub, and then work without it.`,
		Example: "  fettle hub init --fleet acme --repository https://git.example.org/site.git\n  fettle hub run",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newHubInit(s, h), newHubRun(s, h), newHubToken(s), newHubJoin(s, h), newHubList(s), newHubRetire(s),
		newHubCheck(s), newHubBackup(s, h), newHubRestore(s, h), newHubChown(s, h))
	return c
}

// hubFlags are the settings of a new hub.
type hubFlags struct {
	dir, fleet, name, api, bus string
	user                       hubUserFlag
	cluster                    string
	addresses                  []string
	repository, branch         string
	key, known                 string
	poll                       time.Duration
	nats                       natsFlags
}

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
		Example: "  fettle hub init --fleet acme --repository https://git.example.org/site.git\n  fettle hub init --fleet acme --address hub.example.org --address 192.0.2.7 --dir /srv/hub\n\n  # With the data on a NATS cluster:\n  fettle hub init --fleet acme --nats tls://nats1.example.org:4222 --nats tls://nats2.example.org:4222 --nats-creds fettle.creds",
		Args:    cli.Args(0, 0),
		RunE:    func(*cobra.Command, []string) error { return hubInit(s.Printer, h, f) },
	}
	flags := c.Flags()
	flags.StringVar(&f.fleet, "fleet", "", "the `NAME` of the fleet; required")
	flags.StringVar(&f.repository, "repository", "", "follow the git repository at `URL`")
	flags.StringVar(&f.branch, "branch", "main", "follow this `BRANCH` of the repository")
	f.listening(flags)
	cli.SpanVar(flags, &f.poll, "poll", hub.Poll, "check the repository once in this `DURATION`")
	return c
}

// listening are the flags of every new hub.
func (f *hubFlags) listening(flags *pflag.FlagSet) {
	flags.StringVar(&f.dir, "dir", hubDir, "store the data of the hub in `DIR`")
	f.user.flag(flags)
	flags.StringVar(&f.name, "name", "", "the `NAME` of this hub (default: this host's)")
	flags.StringArrayVar(&f.addresses, "address", nil,
		"an `ADDRESS` or name at which agents and users reach the hub; may be repeated (default: this host's name)")
	flags.StringVar(&f.api, "api", ":"+strconv.Itoa(hub.DefaultAPI), "serve enrolment, content and the API on `HOST:PORT`")
	flags.StringVar(&f.bus, "bus", ":"+strconv.Itoa(hub.DefaultBus), "serve agents on `HOST:PORT`")
	flags.StringVar(&f.cluster, "cluster", ":"+strconv.Itoa(hub.DefaultCluster),
		"serve other hubs of the fleet, if any, on `HOST:PORT`")
	flags.StringVar(&f.key, "key", "", "read the repository over ssh with the private key in this `FILE`")
	flags.StringVar(&f.known, "known-hosts", "", "trust the host keys in this `FILE` when reading the repository over ssh")
	f.nats.flag(flags)
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
	short, _, _ := strings.Cut(host, ".")
	b := hub.InitOptions{Dir: dir, Hosts: addresses, Now: s.App.Now(), Settings: hub.Settings{
		Fleet: f.fleet, Name: cmp.Or(f.name, short), API: f.api, Bus: f.bus, Cluster: f.cluster,
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

func newHubRun(s *cli.Session, h *Hub) *cobra.Command {
	r := HubRun{}
	c := &cobra.Command{
		Use:   "run",
		Short: "Run a hub in the foreground",
		Long: `Runs a hub in the foreground: serves agents and users until SIGTERM or SIGINT.
On this host root needs no login: commands use a socket that only root and
the user of the hub can open.

If root runs this command, it continues as the owner of the directory of the
hub. As a service, it refuses a directory of root: see fettle hub chown.

For a hub that was created with --nats, you can give other addresses and
credentials of the NATS cluster. They are stored in the directory of the hub.`,
		Example: "  fettle hub run\n  fettle hub run --dir /srv/hub\n  fettle hub run --nats tls://nats4.example.org:4222 --nats-creds new.creds",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return hubRun(c.Context(), s.Printer, h, r) },
	}
	c.Flags().StringVar(&r.Dir, "dir", hubDir, "the directory of the hub: the `DIR` of fettle hub init")
	c.Flags().StringVar(&r.Socket, "socket", hubclient.HubSocket,
		"accept commands of root on this host at the socket `FILE`")
	r.nats.flag(c.Flags())
	return c
}

func hubRun(ctx context.Context, s *cli.Printer, h *Hub, r HubRun) error {
	if h == nil {
		return errors.New("cannot run a hub: this binary was built without support for hubs")
	}
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	r.Dir = dir
	given, err := r.nats.given()
	if err != nil {
		return err
	}
	if err := runHubAs(s, h, dir, r.Socket); err != nil {
		return err
	}
	if err := useNats(s, h, dir, given, false); err != nil {
		return err
	}
	serving := h.Serving
	r.Stopped = func() { serving(false) }
	r.Ready = func(api, bus fmt.Stringer) {
		serving(true)
		fmt.Fprintf(s.App.Stdout, "serving users on %s, agents on %s, and commands of root on %s\n", api, bus, r.Socket)
	}
	r.Warn = func(text string) { fmt.Fprintln(s.App.Stderr, "warning: "+text) }
	return h.Run(ctx, r)
}
