package repository

import (
	"context"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/outside"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/workspace"
)

// NewModule builds the command module, to modules of other repositories, and modules of the fleet.
func NewModule(s *cli.Session) *cobra.Command {
	c := &cobra.Command{
		Use:   "module",
		Short: "Modules of other repositories, and modules of the fleet",
		Long: `Manages modules. A module of another git repository is copied to modules/NAME.
Its lock records the source, the version, the commit, and the digest of each
file. The module is then a part of this repository: compiling reads the copy,
and refuses an edited copy.

A version is a tag: NAME/v1.2.0 or v1.2.0. Without --version, the highest
version is used. Without such tags, the default branch of the source is used.`,
		Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	version := ""
	add := &cobra.Command{
		Use:   "add NAME SOURCE",
		Short: "Copy a module of another repository into modules/NAME",
		Long: `Copies a module of another repository. SOURCE is a git repository: a URL,
HOST:PATH or a path. Append the directory of the module behind //. Without it,
the directory is modules/NAME if that exists, otherwise the whole repository.
fettle uses the git of the user, with its keys and credentials.`,
		Example: "  fettle module add nginx https://git.example.org/modules.git//nginx\n  fettle module add web ../other --version v1.2.0",
		Args:    cli.Args(2, 2),
		RunE:    func(c *cobra.Command, a []string) error { return addModule(c.Context(), s, a[0], a[1], version) },
	}
	update := &cobra.Command{
		Use:   "update [NAME…]",
		Short: "Update modules to the newest or to a named version",
		Long: `Updates all modules of other repositories, or the named modules, from their
sources. Files that were edited here are overwritten; update lists them. Git
preserves committed edits. Before you commit, review the difference of the step
lists: fettle diff.`,
		Example: "  fettle module update\n  fettle module update nginx --version v1.3.0",
		Args:    cli.Args(0, -1),
		RunE:    func(c *cobra.Command, a []string) error { return updateModules(c.Context(), s, a, version) },
	}
	for _, sub := range []*cobra.Command{add, update} {
		sub.Flags().StringVar(&version, "version", "", "use this `VERSION`: a tag, branch or commit")
	}
	c.AddCommand(add, update, newModuleList(s), newModuleShow(s))
	return c
}

func newModuleList(s *cli.Session) *cobra.Command {
	var w hubclient.Watching
	onFleet := false
	c := &cobra.Command{
		Use:   "list",
		Short: "List the modules with their versions and local changes",
		Long: `Lists the modules of the repository. With --fleet it asks the hub, and lists the
modules of all targets: the number of targets, how many of them are behind,
and the states.`,
		Example: "  fettle module list\n  fettle module list --fleet --watch", Args: cli.Args(0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			if w.On && !onFleet {
				return cli.Refuse("Watch the modules of the fleet: fettle module list --fleet --watch",
					"cannot watch the modules of one host: --watch needs --fleet")
			}
			if !onFleet {
				return listModules(c.Context(), s)
			} else if err := cli.AllowOnly(c, "--fleet"); err != nil {
				return err
			}
			return hubclient.ShowingRoute(c.Context(), s.Printer, w, route.Modules(), showFleetModules)
		},
	}
	c.Flags().BoolVar(&onFleet, "fleet", false, "show the modules of the fleet, through the hub")
	w.Flag(c)
	return c
}

// modulesOf are the modules of a repository, as its files are or at a commit.
func modulesOf(s *cli.Session, src *workspace.Source) outside.Modules {
	return outside.Modules{Directory: src.Directory(), Tree: src.Tree, Limits: s.Limits()}
}

func listModules(ctx context.Context, s *cli.Session) error {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	list, err := modulesOf(s, src).List()
	if err != nil {
		return err
	}
	if s.JSON {
		return s.Document(ModulesDoc{Format: "fettle.modules/1", Modules: list})
	}
	showModuleList(s.Printer, list)
	return nil
}

func addModule(ctx context.Context, s *cli.Session, name, from, version string) error {
	if err := outside.CheckModuleName(name); err != nil {
		return err
	}
	src, err := openWorkTree(ctx, s)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	d, err := modulesOf(s, src).Add(ctx, name, from, version)
	if err != nil {
		return err
	}
	return showCopied(s.Printer, []outside.Module{d})
}

func updateModules(ctx context.Context, s *cli.Session, names []string, version string) error {
	src, err := openWorkTree(ctx, s)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	list, err := modulesOf(s, src).Update(ctx, names, version)
	if err != nil {
		return err
	}
	return showCopied(s.Printer, list)
}
