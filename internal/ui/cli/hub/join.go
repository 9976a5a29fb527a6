package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
	"fettle.dev/fettle/internal/ui/cli"
	fleetcmd "fettle.dev/fettle/internal/ui/cli/fleet"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// joinWithin is how long another hub may take to make room.
const joinWithin = 2 * time.Minute

func newHubToken(s *cli.Session) *cobra.Command {
	var expires time.Duration
	note := ""
	c := &cobra.Command{
		Use:   "token",
		Short: "Create a token for a new hub",
		Long: `Creates a token for one new hub, and prints it once. That hub then has all data
of the other hubs and signs assignments of targets. Give the token only to that
hub, and use it soon. Only the hub with the key of the fleet CA creates tokens
for hubs.`,
		Example: "  fettle hub token >token\n  fettle hub token --expires 10m",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return fleetcmd.CreateToken(c.Context(), s.Printer, document.TokenRequest{Hub: true,
				Expires: int64(expires), Note: note})
		},
	}
	cli.ExpiresFlag(c, &expires, 15*time.Minute, "expire after this")
	c.Flags().StringVar(&note, "note", "", "record `TEXT` as the purpose of the token")
	return c
}

func newHubJoin(s *cli.Session, h *Hub) *cobra.Command {
	var f hubFlags
	file := ""
	c := &cobra.Command{
		Use:   "join HUB",
		Short: "Make this host a hub of an existing fleet",
		Long: `Creates the directory of a hub on this host. It contains the hub's own keys,
certified by the fleet CA, and data about the other hubs. HUB is the hub that
has the key of the fleet CA; it is trusted only if the token belongs to its
fleet.

All hubs share the settings of the fleet, but not the key for the repository.
Give a key with --key, or put it where the first hub has it. If the fleet stores
its data on a NATS cluster, this hub gets the address of the cluster, and needs
its own credentials: --nats-creds.`,
		Example: "  fettle hub join https://hub1.example.org:7440 --token-file token\n" +
			"  fettle hub join https://hub1.example.org:7440 --token-file - --address hub2.example.org --name hub2 " +
			"<token\n  fettle hub join https://hub1.example.org:7440 --token-file token --nats-creds hub2.creds",
		Args: cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error { return hubJoin(c.Context(), s.Printer, h, a[0], file, f) },
	}
	flags := c.Flags()
	flags.StringVar(&file, "token-file", "", "read the token of fettle hub token from this `FILE`; - is standard input")
	f.listening(flags)
	return c
}

func hubJoin(ctx context.Context, s *cli.Printer, h *Hub, at, file string, f hubFlags) error {
	if file == "" {
		return cli.Refuse("Make one on that hub: fettle hub token >token", "cannot join without a token")
	}
	if h == nil {
		return errors.New("cannot run a hub: this binary was built without support for hubs")
	}
	in := s.App.Stdin
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return fmt.Errorf("cannot read the token: %w", err)
		}
		defer opened.Close()
		in = opened
	}
	token, err := io.ReadAll(io.LimitReader(in, 4<<10))
	if err != nil {
		return fmt.Errorf("cannot read the token: %w", err)
	}
	b, err := birth(s, f)
	if err != nil {
		return err
	}
	b.Repository = hub.Repository{Key: f.key, Known: f.known}
	ctx, stop := context.WithTimeout(ctx, joinWithin)
	defer stop()
	if err := newHubAs(s, h, f.user, b.Dir, f.key, f.known); err != nil {
		return err
	}
	defer hubclient.WhileWaiting(s, "waiting for an answer of the hub at "+at+", which this hub joins")()
	set, err := h.Join(ctx, hub.JoinOptions{InitOptions: b, URL: strings.TrimSuffix(at, "/"),
		Token: string(token)})
	if errors.Is(err, hub.ErrExists) {
		return cli.WithHint(err, "Run it: fettle hub run --dir "+b.Dir)
	}
	if err != nil {
		return err
	}
	if s.JSON {
		return s.Document(HubDoc{Format: "fettle.hub/1", Dir: b.Dir, Fleet: set.Fleet, Name: set.Name, Hubs: set.HubURLs,
			Buses: set.BusURLs})
	}
	fmt.Fprintf(s.App.Stdout, `%s is a hub of %s, in %s.

  users       %s
  agents      %s

Next:
  %s
  fettle hub list
`, set.Name, set.Fleet, b.Dir, set.HubURLs[0], set.BusURLs[0], startHub(b.Dir))
	return nil
}
