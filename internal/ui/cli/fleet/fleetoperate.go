package fleet

import (
	"time"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

func newTargetApprove(s *cli.Session) *cobra.Command {
	return hubclient.SelectMany(&cobra.Command{
		Use:     "approve [TARGET…]",
		Short:   "Approve targets that wait to join the fleet",
		Example: "  fettle target approve web7\n  fettle target approve -t 'web*'",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return onTargets(s, c, "approve", a, route.ApproveTarget(), document.ReasonRequest{})
		},
	})
}

func newTargetLabel(s *cli.Session) *cobra.Command {
	return hubclient.SelectMany(&cobra.Command{
		Use:   "label [TARGET] KEY=VALUE|KEY-…",
		Short: "Set or remove labels of a target",
		Long: `Sets or removes labels of targets. Labels determine the target groups of a
target, and so its assignment and the data that it may read. Agents cannot set
their own labels.`,
		Example: "  fettle target label web1 env=prod canary-\n  fettle target label -t 'web*' tier=1",
		Args:    cli.Args(1, -1),
		RunE: func(c *cobra.Command, a []string) error {
			var names []string
			if len(s.Words) == 0 {
				names, a = a[:1], a[1:]
			}
			r, err := hubclient.LabelRequest(a)
			if err != nil {
				return err
			}
			return onTargets(s, c, "label", names, route.LabelTarget(), r)
		},
	})
}

func newTargetPin(s *cli.Session) *cobra.Command {
	var r document.PinRequest
	var permit permitFlags
	var expires time.Duration
	permitFile, permitNow := "", false
	c := hubclient.SelectMany(&cobra.Command{
		Use:   "pin [TARGET…] --branch REF",
		Short: "Pin targets to a branch, tag or commit",
		Long: `Pins targets to a branch, tag or commit. A pinned target follows the branch, or
stays at the tag or commit, until the pin ends or is removed. With --module,
only that module is pinned.

Targets that accept only signed commits require a permit to return to an older
commit. --permit signs the permit here, with a key that the targets trust, and
adds it to the pin.`,
		Example: "  fettle target pin web3 --branch fix-tls --expires 2d\n  fettle target pin -t label:canary --branch next --module web\n  fettle target pin web3 --branch v1.4 --permit",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if (r.Ref == "") == (permitFile == "") {
				return cli.Refuse("Add either --branch REF or --permit-file FILE",
					"cannot pin: it needs exactly one commit to pin to")
			}
			r.For = int64(expires)
			if permitFile != "" {
				var err error
				if r.Permit, r.Ref, err = readPermit(permitFile); err != nil {
					return err
				}
			}
			if permitNow {
				var err error
				if r.Ref, r.Permit, err = permitted(c.Context(), s, permit, r.Ref, a); err != nil {
					return err
				}
			}
			return onTargets(s, c, "pin", a, route.PinTarget(), r)
		},
	})
	c.Flags().StringVar(&r.Ref, "branch", "", "follow the branch `REF`; for a tag or a commit: stay at it")
	c.Flags().StringVar(&r.Module, "module", "", "pin only this `MODULE`")
	c.Flags().BoolVar(&permitNow, "permit", false,
		"sign a permit to return to the commit of --branch, and add it to the pin")
	c.Flags().StringVar(&permitFile, "permit-file", "",
		"pin to the commit of the permit in this `FILE`, and add the permit: see fettle permit sign")
	permit.flags(c)
	cli.SpanVar(c.Flags(), &permit.expires, "permit-expires", permitLife, "let agents use the permit for this `DURATION`")
	cli.ExpiresFlag(c, &expires, 0, "end the pin (default: never) after this")
	cli.ReasonFlag(c, &r.Reason)
	return c
}

func newTargetUnpin(s *cli.Session) *cobra.Command {
	module := ""
	c := hubclient.SelectMany(&cobra.Command{
		Use:     "unpin [TARGET…]",
		Short:   "Unpin targets",
		Example: "  fettle target unpin web3\n  fettle target unpin web3 --module web",
		Args:    cli.Args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return onTargets(s, c, "unpin", a, route.UnpinTarget(), document.UnpinRequest{Module: module})
		},
	})
	c.Flags().StringVar(&module, "module", "", "remove the pin of this `MODULE`")
	return c
}
