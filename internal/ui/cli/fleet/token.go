package fleet

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewToken builds the command token, to tokens with which hosts join the fleet.
func NewToken(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Tokens with which hosts join the fleet",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTokenCreate(s), newTokenList(s), newTokenRevoke(s))
	return c
}

func newTokenCreate(s *cli.Session) *cobra.Command {
	var r document.TokenRequest
	var labels []string
	var expires time.Duration
	c := &cobra.Command{
		Use:   "create",
		Short: "Create a token",
		Long: `Creates a token and prints it once: no hub stores it. Hosts that enrol with the
token get its labels, and labels select the modules and the secrets of a target.
Keep the token secret until it expires or all its uses are spent.`,
		Example: "  fettle token create --label role=web,env=prod --uses 20 --expires 1h\n  fettle token create --approve >token",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if len(labels) > 0 {
				set, err := hubclient.LabelRequest(labels)
				if err != nil {
					return err
				}
				if len(set.Remove) > 0 {
					return cli.Refuse("Write KEY=VALUE", "cannot create a token that removes labels")
				}
				r.Labels = set.Set
			}
			r.Expires = int64(expires)
			return CreateToken(c.Context(), s.Printer, r)
		},
	}
	f := c.Flags()
	f.StringVar(&r.Fleet, "fleet", "", "refuse if the fleet of the hub is not this `FLEET`")
	f.StringVar(&r.Organization, "organization", "",
		"add targets to this `ORGANIZATION`, such as acme/search (default: yours)")
	f.StringSliceVar(&labels, "label", nil, "give targets the label `KEY=VALUE`; separate several with commas")
	f.StringVar(&r.Names, "name", "", "admit only targets whose name matches this `PATTERN`")
	cli.NumberVar(f, &r.Uses, "uses", 1, 1, "admit this `NUMBER` of targets")
	cli.ExpiresFlag(c, &expires, time.Hour, "expire after this")
	f.BoolVar(&r.Approve, "approve", false, "keep each target pending until an operator approves it")
	f.StringSliceVar(&r.Network, "network", nil, "admit only targets from this `NETWORK`, such as 10.0.0.0/8")
	f.StringVar(&r.Note, "note", "", "record `TEXT` as the purpose of the token")
	return c
}

// CreateToken creates a token, and prints it.
func CreateToken(ctx context.Context, s *cli.Printer, r document.TokenRequest) error {
	hub, err := hubclient.HubOf(s)
	if err != nil {
		return err
	}
	t, err := client.Post(ctx, hub, route.CreateToken(), r)
	if err != nil {
		return err
	}
	if s.JSON {
		return s.Document(t)
	}
	fmt.Fprintf(s.App.Stderr, "Token %s, for %s, valid until %s. It is shown only once:\n", t.Token.ID, lets(t.Token),
		s.Moment(t.Token.Expires))
	s.Printf("%s\n", t.Secret)
	return nil
}

func newTokenList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the tokens, without the secrets",
		Example: "  fettle token list",
		Args:    cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Tokens(), showTokens)
		},
	}
	w.Flag(c)
	return c
}

func newTokenRevoke(s *cli.Session) *cobra.Command {
	yes := false
	c := &cobra.Command{
		Use:     "revoke TOKEN…",
		Short:   "Revoke tokens; enrolled targets stay",
		Long:    "Revokes tokens: no host can enrol with them. This cannot be undone.",
		Example: "  fettle token revoke k7",
		Args:    cli.Args(1, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if err := cli.AskBefore(c.Context(), s, yes, "Revoke "+strings.Join(a, ", ")+"?"); err != nil {
				return err
			}
			return hubclient.EachOnHub(c.Context(), s, "revoke", a, func(hub *client.Client, id string) (document.Done, error) {
				return client.Call(c.Context(), hub, route.RevokeToken(), route.TokenID{Token: id}, document.ReasonRequest{})
			})
		},
	}
	cli.YesFlag(c, &yes)
	return c
}
