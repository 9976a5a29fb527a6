//go:build !target

package cli

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
)

// joinWithin is how long another hub may take to make room.
const joinWithin = 2 * time.Minute

func newHubToken(s *session) *cobra.Command {
	expires, note := "", ""
	c := &cobra.Command{
		Use:   "token",
		Short: "Create a token for a new hub",
		Long: `Prints the token, once. It is good for one hub, which then knows all that the others
know and signs what targets are to be: give it to nobody else, and soon. It is made on
the hub that has the authority's key.`,
		Example: "  fettle hub token >token\n  fettle hub token --expires 10m",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			d, err := parseSpan(expires)
			if err != nil {
				return err
			}
			return s.createToken(c.Context(), document.TokenRequest{Hub: true, Expires: int64(d), Note: note})
		},
	}
	c.Flags().StringVar(&expires, "expires", "15m", "end after this `TIME`, such as 15m or 2d")
	c.Flags().StringVar(&note, "note", "", "say what it is for: `TEXT`")
	return c
}

func newHubJoin(s *session) *cobra.Command {
	var f hubFlags
	file := ""
	c := &cobra.Command{
		Use:   "join HUB",
		Short: "Make this machine a hub of an existing fleet",
		Long: `Makes the folder of a hub on this machine: keys of its own, which the fleet's
authority vouches for, and what it has to know of the other hubs. HUB is the one that has
the authority's key; it is believed only if the token is of its fleet.

The fleet's settings are shared by all hubs. A key for the repository is not: give one
with --key, or put it where the first hub has it. Where the fleet keeps everything on a
NATS cluster, this hub is told of it, and needs --nats-creds: credentials of its own.`,
		Example: "  fettle hub join https://hub1.example.org:7440 --token-file token\n  fettle hub join https://hub1.example.org:7440 --token-file - --address hub2.example.org --name hub2 <token\n  fettle hub join https://hub1.example.org:7440 --token-file token --nats-creds hub2.creds",
		Args:    args(1, 1),
		RunE:    func(c *cobra.Command, a []string) error { return s.hubJoin(c.Context(), a[0], file, f) },
	}
	flags := c.Flags()
	flags.StringVar(&file, "token-file", "", "read the token of fettle hub token from this `FILE`; - is standard input")
	f.listening(flags)
	return c
}

func (s *session) hubJoin(ctx context.Context, at, file string, f hubFlags) error {
	if file == "" {
		return refuse("Make one on that hub: fettle hub token >token", "cannot join without a token")
	}
	if s.app.Hub == nil {
		return errors.New("cannot be a hub: this program was built without")
	}
	in := s.app.Stdin
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
	b, err := s.birth(f)
	if err != nil {
		return err
	}
	b.Repository = hub.Repository{Key: f.key, Known: f.known}
	ctx, stop := context.WithTimeout(ctx, joinWithin)
	defer stop()
	defer s.whileWaiting("waiting for an answer of the hub at " + at + ", which this hub joins")()
	set, err := s.app.Hub.Join(ctx, hub.Joining{Birth: b, At: strings.TrimSuffix(at, "/"), Token: string(token)})
	if errors.Is(err, hub.ErrExists) {
		return withHint(err, "Run it: fettle hub run --dir "+b.Dir)
	}
	if err != nil {
		return err
	}
	if s.json {
		return s.document(hubDoc{Format: "fettle.hub/1", Dir: b.Dir, Fleet: set.Fleet, Name: set.Name, Hubs: set.Hubs, Buses: set.Buses})
	}
	fmt.Fprintf(s.app.Stdout, `%s is a hub of %s, in %s.

  people      %s
  agents      %s

Next:
  fettle hub run --dir %s
  fettle hub list
`, set.Name, set.Fleet, b.Dir, set.Hubs[0], set.Buses[0], b.Dir)
	return nil
}

func newHubLeave(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "leave",
		Short: "Retire the hub of this machine",
		Long: `Asks the hub that runs on this machine to leave: the others get all that it keeps,
agents go to them, and then it stops for good. Its folder can be removed afterwards. A
hub that does not run any more is taken out at another one: fettle hub retire NAME.`,
		Example: "  fettle hub leave",
		Args:    args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			hub, err := s.hub()
			if err != nil {
				return err
			}
			page, err := hub.Hubs(c.Context())
			if err != nil {
				return err
			}
			d, err := hub.RetireHub(c.Context(), page.Seen, document.HubRetirement{Reason: "it leaves"})
			if err != nil {
				return err
			}
			return s.done("leave", 0, d.Text+withdrawn(page))
		},
	}
}

func newHubRetire(s *session) *cobra.Command {
	var r document.HubRetirement
	c := &cobra.Command{
		Use:   "retire NAME",
		Short: "Retire a hub",
		Long: `The other hubs get all that it keeps, and then it stops for good. Nobody believes it any
more, nor what its keys signed; targets whose certificates it made get others. One that is
gone can be retired too, as long as most of the hubs are there. Its name is not given
again.

With --lost nobody waits for it: it is out at once. That is for a hub whose machine or
backup may be in other hands.`,
		Example: "  fettle hub retire hub3 --reason 'its machine is old'\n  fettle hub retire hub3 --lost --reason stolen",
		Args:    args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			hub, err := s.hub()
			if err != nil {
				return err
			}
			d, err := hub.RetireHub(c.Context(), a[0], r)
			if err != nil {
				return err
			}
			page, err := hub.Hubs(c.Context())
			if err != nil {
				page = document.HubPage{} // it is retired all the same
			}
			return s.done("retire", 0, d.Text+withdrawn(page))
		},
	}
	c.Flags().StringVar(&r.Reason, "reason", "", "say why: `TEXT`")
	c.Flags().BoolVar(&r.Lost, "lost", false, "it is gone for good, or stolen: believe it no more, at once")
	return c
}
