// Package scopes has the commands for scopes of a fleet, such as clusters, and for their tasks.
//
//	fettle scope show cluster/search
//	fettle task retry cluster/search templates --reason 'the disk is replaced'
package scopes

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
)

// NewScope builds the command scope, for sets of targets with a verdict of their own.
func NewScope(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "scope",
		Short: "Scopes, such as clusters, and their verdicts",
		Long: `Shows the scopes that the repository declares: sets of targets with checks and
tasks, such as clusters. The verdict of a scope does not follow from the states
of its targets: docs/scopes.md.`,
		Example: "  fettle scope list\n  fettle scope show cluster/search",
		Args:    cli.Args(0, 0),
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newScopeList(s), newScopeShow(s), newScopeHistory(s))
	return c
}

func newScopeShow(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	c := &cobra.Command{
		Use:   "show KIND/NAME",
		Short: "Show the members, checks and tasks of a scope",
		Long: `Shows why a scope has its verdict: its members, the results of its checks on
each target, and its tasks with their attempts.`,
		Example: "  fettle scope show cluster/search\n  fettle scope show cluster/search --watch",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			at, err := scopeID(c.Context(), s.Printer, a[0])
			if err != nil {
				return err
			}
			return hubclient.ShowingAt(c.Context(), s.Printer, w, route.Scope(), at, showScope)
		},
	}
	w.Flag(c)
	return c
}

func newScopeHistory(s *cli.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "history KIND/NAME",
		Short:   "List the last verdicts of a scope, the newest first",
		Example: "  fettle scope history cluster/search",
		Args:    cli.Args(1, 1),
		RunE: func(c *cobra.Command, a []string) error {
			at, err := scopeID(c.Context(), s.Printer, a[0])
			if err != nil {
				return err
			}
			return hubclient.ShowingAt(c.Context(), s.Printer, hubclient.Watching{}, route.ScopeHistory(), at, showHistory)
		},
	}
}

// Explain shows why a scope has its verdict.
func Explain(ctx context.Context, s *cli.Printer, id string) error {
	at, err := scopeID(ctx, s, id)
	if err != nil {
		return err
	}
	return hubclient.ShowingAt(ctx, s, hubclient.Watching{}, route.Scope(), at, showScope)
}

func showHistory(s *cli.Printer, h document.ScopeHistory) {
	if len(h.Verdicts) == 0 {
		s.Printf("The leading hub has not stored a verdict of %s yet.\n", h.Scope)
		return
	}
	var rows [][]string
	for _, v := range h.Verdicts {
		rows = append(rows, []string{since(s, v.Since), string(v.Verdict), document.FirstReason(v.Reasons)})
	}
	s.Style().Table(s.App.Stdout, []string{"SINCE", "VERDICT", "REASON"}, rows)
}
