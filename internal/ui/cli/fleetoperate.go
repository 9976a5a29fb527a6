//go:build !target

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
)

func newTargetApprove(s *session) *cobra.Command {
	return selectMany(&cobra.Command{
		Use:     "approve [TARGET…]",
		Short:   "Approve targets that wait to join the fleet",
		Example: "  fettle target approve web7\n  fettle target approve -t 'web*'",
		Args:    args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return s.onTargets(c, "approve", a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Approve(ctx, name)
			})
		},
	})
}

func newTargetLabel(s *session) *cobra.Command {
	return selectMany(&cobra.Command{
		Use:   "label [TARGET] KEY=VALUE|KEY-…",
		Short: "Set or remove labels of a target",
		Long: `Labels say which target groups a target is in, and with that what it gets and may read.
Agents cannot give themselves any.`,
		Example: "  fettle target label web1 env=prod canary-\n  fettle target label -t 'web*' tier=1",
		Args:    args(1, -1),
		RunE: func(c *cobra.Command, a []string) error {
			var names []string
			if len(s.words) == 0 {
				names, a = a[:1], a[1:]
			}
			r, err := labelRequest(a)
			if err != nil {
				return err
			}
			return s.onTargets(c, "label", names, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Label(ctx, name, r)
			})
		},
	})
}

// labelRequest reads KEY=VALUE and KEY-.
func labelRequest(words []string) (document.LabelRequest, error) {
	r := document.LabelRequest{Set: map[string]string{}}
	for _, w := range words {
		key, value, set := strings.Cut(w, "=")
		gone, removed := strings.CutSuffix(w, "-")
		switch {
		case set && key != "":
			r.Set[key] = value
		case removed && gone != "":
			r.Remove = append(r.Remove, gone)
		default:
			return r, refuse("Write KEY=VALUE, or KEY- to remove one", fmt.Sprintf("cannot read %.80q as a label", w))
		}
	}
	if len(words) == 0 {
		return r, refuse("Write KEY=VALUE, or KEY- to remove one", "cannot set no label")
	}
	return r, nil
}

func newTargetPin(s *session) *cobra.Command {
	var r document.PinRequest
	var permit permitFlags
	span, permitFile, permitNow := "", "", false
	c := selectMany(&cobra.Command{
		Use:   "pin [TARGET…] --branch REF",
		Short: "Pin targets to a branch, tag or commit",
		Long: `A target that is pinned follows the branch, or stays at the tag or commit, until the pin
ends or is taken away. With --module it is that module alone.

Targets that take signed commits alone go back to an older one with a permit only: --permit
signs it here, with a key that they believe, and the pin carries it.`,
		Example: "  fettle target pin web3 --branch fix-tls --for 2d\n  fettle target pin -t label:canary --branch next --module web\n  fettle target pin web3 --branch v1.4 --permit",
		Args:    args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			if (r.Ref == "") == (permitFile == "") {
				return refuse("Name it: --branch REF, or --permit-file FILE", "cannot pin to nothing, or to two things at once")
			}
			var err error
			if r.For, err = spanFlag(span); err != nil {
				return err
			}
			if permitFile != "" {
				if r.Permit, r.Ref, err = readPermit(permitFile); err != nil {
					return err
				}
			}
			if permitNow {
				if r.Ref, r.Permit, err = s.permitted(c.Context(), permit, r.Ref, a); err != nil {
					return err
				}
			}
			return s.onTargets(c, "pin", a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Pin(ctx, name, r)
			})
		},
	})
	c.Flags().StringVar(&r.Ref, "branch", "", "follow this branch, or stay at this tag or commit: `REF`")
	c.Flags().StringVar(&r.Module, "module", "", "pin this `MODULE` alone")
	c.Flags().BoolVar(&permitNow, "permit", false, "sign a permit to go back to it")
	c.Flags().StringVar(&permitFile, "permit-file", "", "pin to the commit of the permit in this `FILE`, and carry it: see fettle permit sign")
	permit.flags(c)
	c.Flags().StringVar(&span, "for", "", "end after this `TIME`, such as 12h or 2d (default: it has no end)")
	c.Flags().StringVar(&r.Reason, "reason", "", "say `WHY`, for the others")
	return c
}

func newTargetUnpin(s *session) *cobra.Command {
	module := ""
	c := selectMany(&cobra.Command{
		Use:     "unpin [TARGET…]",
		Short:   "Unpin targets",
		Example: "  fettle target unpin web3\n  fettle target unpin web3 --module web",
		Args:    args(0, -1),
		RunE: func(c *cobra.Command, a []string) error {
			return s.onTargets(c, "unpin", a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
				return hub.Unpin(ctx, name, module)
			})
		},
	})
	c.Flags().StringVar(&module, "module", "", "take away the pin of this `MODULE`")
	return c
}

// ending is a command that takes targets out of the fleet, after a question.
func (s *session) ending(c *cobra.Command, question string, f func(ctx context.Context, hub *client.Client, name, reason string) (document.Done, error)) *cobra.Command {
	yes, reason := false, ""
	c.Args = args(0, -1)
	c.RunE = func(c *cobra.Command, a []string) error {
		what := strings.Join(a, ", ")
		if len(a) == 0 {
			what = "all that fit " + strings.Join(s.words, ",")
		}
		if err := s.ask(c.Context(), yes, fmt.Sprintf(question, what)); err != nil {
			return withHint(err, "Answer y to go on, or give --yes")
		}
		return s.onTargets(c, c.Name(), a, func(ctx context.Context, hub *client.Client, name string) (document.Done, error) {
			return f(ctx, hub, name, reason)
		})
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().StringVar(&reason, "reason", "", "say `WHY`, for the others")
	return selectMany(c)
}

func newTargetRetire(s *session) *cobra.Command {
	return s.ending(&cobra.Command{
		Use:     "retire [TARGET…]",
		Short:   "Retire targets that have left the fleet",
		Long:    `What a target did stays to be seen. The host can come back with a new token, as a new target.`,
		Example: "  fettle target retire web9 --reason 'the machine was returned'",
	}, "Retire %s?", func(ctx context.Context, hub *client.Client, name, reason string) (document.Done, error) {
		return hub.Retire(ctx, name, reason)
	})
}

func newTargetRevoke(s *session) *cobra.Command {
	return s.ending(&cobra.Command{
		Use:     "revoke [TARGET…]",
		Short:   "Revoke the certificates of targets, at once",
		Long:    `Every hub closes their connections and takes them no more; this cannot be taken back. The host can come back with a new token, as a new target.`,
		Example: "  fettle target revoke web9 --reason stolen --yes",
	}, "Believe %s no more?", func(ctx context.Context, hub *client.Client, name, reason string) (document.Done, error) {
		return hub.Revoke(ctx, name, reason)
	})
}
