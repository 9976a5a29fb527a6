package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/kind/generator"
	langsource "fettle.dev/fettle/internal/lang/source"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/ui/cli/hubclient"
	"fettle.dev/fettle/internal/workspace"
)

// ModulesDoc tells of the modules of others.
type ModulesDoc struct {
	Format  string      `json:"format"` // fettle.modules/1
	Modules []moduleDoc `json:"modules"`
}

type moduleDoc struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"` // "" for a module without a version
	Source  string   `json:"source,omitempty"`  // "" for the repository's own
	Path    string   `json:"path,omitempty"`
	Commit  string   `json:"commit,omitempty"`
	State   string   `json:"state"`             // own, locked, changed, added, updated or unchanged
	Was     string   `json:"was,omitempty"`     // the version before
	Changed []string `json:"changed,omitempty"` // files
}

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

func listModules(ctx context.Context, s *cli.Session) error {
	src, err := s.OpenSource(ctx, s.Rev)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	doc := ModulesDoc{Format: "fettle.modules/1", Modules: []moduleDoc{}}
	list, err := src.Tree.ReadDir("modules")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range list {
		if e.Type == repo.Dir {
			d, err := describeModule(src.Tree, path.Base(e.Path))
			if err != nil {
				return err
			}
			doc.Modules = append(doc.Modules, d)
		}
	}
	if s.JSON {
		return s.Document(doc)
	}
	if len(doc.Modules) == 0 {
		s.Printf("The repository has no modules. Add one: fettle module add NAME SOURCE\n")
		return nil
	}
	rows := [][]string{}
	for _, d := range doc.Modules {
		rows = append(rows, []string{d.Name, cmp.Or(d.Version, d.Commit[:min(12, len(d.Commit))]),
			strings.TrimSpace(d.State + " " + strings.Join(d.Changed, " ")), strings.TrimSuffix(d.Source+"//"+d.Path, "//")})
	}
	s.Style().Table(s.App.Stdout, []string{"MODULE", "VERSION", "STATE", "SOURCE"}, rows)
	return nil
}

func describeModule(t repo.Tree, name string) (moduleDoc, error) {
	dir := path.Join("modules", name)
	l, err := langsource.ReadLock(t, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return moduleDoc{Name: name, State: "own"}, nil
	}
	if err != nil {
		return moduleDoc{}, err
	}
	now, err := langsource.ModuleFiles(t, dir)
	d := moduleDoc{Name: name, Version: l.Version, Source: l.Source, Path: l.Path, Commit: l.Commit, State: "locked",
		Changed: l.Changed(now)}
	if len(d.Changed) > 0 {
		d.State = "changed"
	}
	return d, err
}

func addModule(ctx context.Context, s *cli.Session, name, from, version string) error {
	if !generator.IsName(name) {
		return cli.Refuse("Choose a name such as nginx: fettle module add nginx SOURCE",
			fmt.Sprintf("cannot name a module %q: use letters, digits, _ and -", name))
	}
	src, err := openWorkTree(ctx, s)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	if _, err := src.Tree.Stat(path.Join("modules", name)); err == nil {
		return cli.Refuse("Change its version: fettle module update "+name+"\nOr choose another name",
			fmt.Sprintf("cannot add the module %q: modules/%s already exists", name, name))
	}
	l := langsource.ModuleLock{Source: from}
	scheme := max(0, strings.Index(from, "://")+3)
	if i := strings.Index(from[scheme:], "//"); i >= 0 {
		l.Source, l.Path = from[:scheme+i], path.Clean(from[scheme+i+2:])
	}
	d, err := takeModule(ctx, s, src, name, l, version)
	if err != nil {
		return err
	}
	d.State = "added"
	return tookModules(s.Printer, []moduleDoc{d})
}

func updateModules(ctx context.Context, s *cli.Session, names []string, version string) error {
	src, err := openWorkTree(ctx, s)
	if err != nil {
		return err
	}
	defer src.Repo.Close()
	all := len(names) == 0
	if all {
		list, _ := src.Tree.ReadDir("modules") // none has none of others
		for _, e := range list {
			names = append(names, path.Base(e.Path))
		}
	}
	var out []moduleDoc
	for _, name := range names {
		l, err := langsource.ReadLock(src.Tree, path.Join("modules", name))
		if errors.Is(err, fs.ErrNotExist) && all {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			return cli.Refuse("List them: fettle module list",
				fmt.Sprintf("cannot update the module %q: it was not copied from another repository", name))
		}
		if err != nil {
			return err
		}
		was, err := describeModule(src.Tree, name)
		if err != nil {
			return err
		}
		d, err := takeModule(ctx, s, src, name, l, version)
		if err != nil {
			return err
		}
		d.Was, d.State = l.Name(), "updated"
		if d.Commit == l.Commit && len(was.Changed) == 0 {
			d.State = "unchanged"
		}
		d.Changed = was.Changed
		out = append(out, d)
	}
	return tookModules(s.Printer, out)
}

func tookModules(s *cli.Printer, list []moduleDoc) error {
	if s.JSON {
		return s.Document(ModulesDoc{Format: "fettle.modules/1", Modules: append([]moduleDoc{}, list...)})
	}
	for _, d := range list {
		was := ""
		if d.Was != "" && d.State == "updated" {
			was = ", was " + d.Was
		}
		s.Printf("modules/%s %s: %s%s\n", d.Name, d.State, cmp.Or(d.Version, d.Commit), was)
		for _, f := range d.Changed {
			s.Printf("  %s was edited here; the edit was replaced\n", f)
		}
	}
	if len(list) == 0 {
		s.Printf("No module was copied from another repository.\n")
	}
	return nil
}

// takeModule copies a version of a module into the repository, and replaces the version in the lock.
func takeModule(ctx context.Context, s *cli.Session, src *workspace.Source, name string, l langsource.ModuleLock,
	version string) (moduleDoc, error) {
	from := l.Source
	if strings.HasPrefix(from, "./") || strings.HasPrefix(from, "../") {
		from = filepath.Join(src.Directory(), from)
	}
	remote, err := repo.OpenRemote(from)
	if err != nil {
		return moduleDoc{}, err
	}
	tags, err := remote.Tags(ctx)
	if err != nil {
		return moduleDoc{}, err
	}
	rev := chooseVersion(tags, path.Base(cmp.Or(l.Path, name)), version)
	temp, err := os.MkdirTemp("", "fettle-module-*")
	if err != nil {
		return moduleDoc{}, fmt.Errorf("cannot fetch a module: %w", err)
	}
	defer os.RemoveAll(temp)
	bare := filepath.Join(temp, "fetched.git")
	if l.Commit, err = remote.Fetch(ctx, rev, bare); err != nil {
		return moduleDoc{}, err
	}
	r, err := repo.OpenWith(ctx, bare, s.Limits())
	if err != nil {
		return moduleDoc{}, err
	}
	defer r.Close()
	tree, _, err := r.At(ctx, l.Commit)
	if err != nil {
		return moduleDoc{}, err
	}
	if l.Path == "" {
		l.Path = "."
		if e, err := tree.Stat(path.Join("modules", name)); err == nil && e.Type == repo.Dir {
			l.Path = path.Join("modules", name)
		}
	}
	l.Version = rev
	err = writeModule(src, tree, name, l)
	return moduleDoc{Name: name, Version: l.Version, Source: l.Source, Path: l.Path, Commit: l.Commit}, err
}

// writeModule writes the files of a module, removes its files that no longer exist, and finally writes
// the lock.
func writeModule(src *workspace.Source, tree repo.Tree, name string, l langsource.ModuleLock) error {
	to := path.Join("modules", name)
	before, err := langsource.ModuleFiles(src.Tree, to)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if l.Files, err = langsource.ModuleFiles(tree, l.Path); err != nil {
		return cli.WithHint(err, "Append the directory to the repository: SOURCE//FOLDER")
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(l.Files)), langsource.IsSource) {
		return cli.Refuse("Append the directory to the repository: SOURCE//FOLDER",
			fmt.Sprintf("cannot use %q of %s as a module: it contains no configuration file", l.Path, l.Source))
	}
	for _, f := range slices.Sorted(maps.Keys(l.Files)) {
		text, err := tree.ReadFile(path.Join(l.Path, f))
		if err == nil {
			err = cli.WriteWith(src.Directory(), path.Join(to, f), text, strings.HasSuffix(l.Files[f], " x"))
		}
		if err != nil {
			return err
		}
	}
	for f := range before {
		if l.Files[f] == "" {
			if err := cli.RemoveFrom(src.Directory(), path.Join(to, f)); err != nil {
				return err
			}
		}
	}
	if err := writeRecords(src, tree, to, l.Path); err != nil {
		return err
	}
	lock, err := l.Bytes()
	if err != nil {
		return err
	}
	return cli.WriteInto(src.Directory(), path.Join(to, langsource.LockName), lock)
}

// writeRecords brings what generators printed along, and the answers of lookups
// where this repository has none of its own.
func writeRecords(src *workspace.Source, tree repo.Tree, to, from string) error {
	for _, dir := range []string{"generated", "lookups"} {
		list, err := tree.ReadDir(path.Join(from, dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range list {
			name := path.Join(to, dir, path.Base(e.Path))
			if _, err := src.Tree.Stat(name); e.Type != repo.File || dir == "lookups" && err == nil {
				continue
			}
			text, err := tree.ReadFile(path.Join(from, dir, path.Base(e.Path)))
			if err == nil {
				err = cli.WriteInto(src.Directory(), name, text)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
