package repository

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/outside"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// LookupsDoc lists the lookups of a repository with the state of their snapshots.
type LookupsDoc struct {
	Format  string           `json:"format"` // fettle.lookups/1
	Lookups []outside.Lookup `json:"lookups"`
}

// NewLookup builds the command lookup, to run the repository's lookups, and record the answers.
func NewLookup(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "lookup",
		Short: "Run the repository's lookups, and record the answers",
		Long: `Manages lookups: values from outside of the repository. A URL or a command
returns the value. It is stored in a snapshot in the repository, next to the
module that declares the lookup. Compiling reads only the snapshot; only these
commands fetch a new value.`,
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	yes := false
	refresh := &cobra.Command{
		Use:   "refresh [NAME…]",
		Short: "Run lookups, and write changed snapshots",
		Long: `Runs all lookups, or the named lookups, and shows the changed values. Commands
run on this host with your rights. Therefore refresh first shows them and
asks for confirmation; --yes confirms. If a lookup fails, its old snapshot
stays, and the other snapshots are written. Review the difference and commit it.`,
		Example: "  fettle lookup refresh\n  fettle lookup refresh users --yes",
		Args:    cli.Args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return refreshLookups(c.Context(), s, a, yes) },
	}
	cli.YesFlag(refresh, &yes)
	status := &cobra.Command{
		Use:   "status [NAME…]",
		Short: "Show the age of the snapshots",
		Long: `Shows the age of the snapshots without running a lookup. Exits with 2 if a
snapshot is missing, cannot be used, or is older than the max_age of its lookup.`,
		Example: "  fettle lookup status\n  fettle lookup status --json",
		Args:    cli.Args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return lookupStatus(c.Context(), s, a) },
	}
	c.AddCommand(refresh, status)
	return c
}

func lookupStatus(ctx context.Context, s *cli.Session, names []string) error {
	src, list, err := lookups(ctx, s, names)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	doc := LookupsDoc{Format: "fettle.lookups/1", Lookups: []outside.Lookup{}}
	stale, shots := false, snapshotsOf(s, src)
	for _, l := range list {
		d := shots.State(l)
		stale = stale || d.State != "fresh"
		doc.Lookups = append(doc.Lookups, d)
	}
	if s.JSON {
		err = s.Document(doc)
	} else {
		showLookups(s.Printer, doc.Lookups)
	}
	if err == nil && stale {
		return cli.ErrChanges
	}
	return err
}

func refreshLookups(ctx context.Context, s *cli.Session, names []string, yes bool) error {
	src, list, err := lookups(ctx, s, names)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	if err := confirmCommands(ctx, s, list, yes); err != nil {
		return err
	}
	doc := LookupsDoc{Format: "fettle.lookups/1", Lookups: []outside.Lookup{}}
	var failed []string
	shots := snapshotsOf(s, src)
	for _, l := range list {
		d := shots.Refresh(ctx, l)
		doc.Lookups = append(doc.Lookups, d)
		showRefreshed(s.Printer, d)
		if d.State == "failed" {
			failed = append(failed, l.Name)
		}
	}
	if s.JSON {
		if err := s.Document(doc); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return cli.Reported(errors.New("cannot refresh " + strings.Join(failed, ", ")))
	}
	return nil
}

func snapshotsOf(s *cli.Session, src *workspace.Source) outside.Snapshots {
	return outside.Snapshots{Directory: src.Directory(), Tree: src.Tree, Now: s.App.Now, Ask: s.App.Programs.Ask}
}
