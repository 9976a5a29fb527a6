package fleet

import (
	"fmt"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewPermit builds the command permit, to permits to return to an older commit, for targets with
// signed commits.
func NewPermit(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "permit",
		Short: "Permits to return to an older commit, for targets with signed commits",
		Args:  cli.Args(0, 0),
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	var f permitFlags
	commit := ""
	sign := &cobra.Command{
		Use:   "sign TARGET… --commit REV",
		Short: "Sign a permit to return to a commit",
		Long: `Signs a permit and prints it. Targets that require signed commits reject a
commit that is older than their previous commit, even if a hub assigns it. A
permit allows it, if the targets trust the key of its signature. The permit is
signed here, on your workstation. To send it through the hub: fettle target pin
… --permit-file FILE.

TARGET is the name of a target, with the wildcards * and ?, or label:KEY=VALUE.`,
		Example: "  fettle permit sign web1 web2 --commit v1.4 >permit\n  fettle permit sign 'web*' --commit 2f5c… --repository site --expires 12h --key ~/.ssh/id_ecdsa >permit",
		Args:    cli.Args(1, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if commit == "" {
				return cli.Refuse("Name it: --commit REV", "cannot sign a permit without a commit")
			}
			p, signed, err := signPermit(c.Context(), s, f, commit, a)
			if err != nil {
				return err
			}
			return hubclient.ShowDocument(s.Printer, PermitDoc{"fettle.permitted/1", p.Commit, p.Targets, p.Expires * 1e9,
				signed},
				func() { fmt.Fprint(s.App.Stdout, signed) })
		},
	}
	sign.Flags().StringVar(&commit, "commit", "",
		"allow the return to this `REV`: a commit, or a branch or tag in the local repository (-C)")
	sign.Flags().StringVar(&f.repository, "repository", "",
		"the `NAME` of the repository at the hub (default: ask the hub)")
	f.flags(sign)
	cli.ExpiresFlag(sign, &f.expires, permitLife, "let agents use the permit for this")
	c.AddCommand(sign)
	return c
}
