package content

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// Compose returns the tree from which a target's list is compiled: the root bundle, and each module
// in its directory ("modules/web"). If enrolled is not empty, the tree has fleet.EnrolledFiles with
// these targets; they replace files of the repository with the same names.
// Nothing is copied; the parts must stay open. The same parts give a tree with the same
// repo.TreeDigest. All parts of a commit together have the digest of the commit, unless it has
// files directly in modules/.
func Compose(top repo.Tree, modules map[string]repo.Tree, enrolled fleet.EnrolledTargets) (repo.Tree, error) {
	if len(enrolled) == 0 {
		return ComposeWith(top, modules, nil)
	}
	if err := checkEnrolled(enrolled); err != nil {
		return nil, fmt.Errorf("cannot combine the parts of the repository: %w", err)
	}
	return ComposeWith(top, modules, fleet.EnrolledFiles(enrolled))
}

// ComposeWith is Compose with the texts of generated files, fleet.EnrolledFile and exported.File,
// by name. Files of the repository with these names are always left out.
func ComposeWith(top repo.Tree, modules map[string]repo.Tree, made map[string]string) (repo.Tree, error) {
	c := composer{from: map[string]place{}}
	c.add(top, "")
	for _, dir := range slices.Sorted(maps.Keys(modules)) {
		if dir == RootBundle || PartOf(dir) != dir || path.Clean(dir) != dir {
			return nil, fmt.Errorf("cannot combine the parts of the repository: %.80q is not the directory of a module", dir)
		}
		c.add(modules[dir], dir)
	}
	if len(made) > 0 {
		c.add(madeTree{repo.MapTree(made)}, "")
	}
	if c.err != nil {
		return nil, fmt.Errorf("cannot combine the parts of the repository: %w", c.err)
	}
	slices.SortFunc(c.items, func(a, b repo.Item) int { return strings.Compare(a.Path, b.Path) })
	if err := checkDuplicates(c.items); err != nil {
		return nil, fmt.Errorf("cannot combine the parts of the repository: %w", err)
	}
	return repo.TreeOf(c.items, func(it repo.Item) (io.ReadCloser, error) {
		p := c.from[it.Path]
		return p.tree.Open(p.path)
	})
}

type place struct {
	tree repo.Tree
	path string
}

type composer struct {
	items []repo.Item
	from  map[string]place
	err   error
}

func (c *composer) add(t repo.Tree, dir string) {
	if c.err != nil {
		return
	}
	_, own := t.(madeTree)
	c.err = repo.Walk(t, ".", func(e repo.Entry) error {
		if dir == "" && !own && (fleet.IsEnrolledFile(e.Path) || e.Path == exported.File) {
			return nil
		}
		it, err := itemOf(t, e)
		if err != nil {
			return err
		}
		it.Path = path.Join(dir, e.Path)
		if dir == "" && (it.Path == "modules" || strings.HasPrefix(it.Path, "modules/")) {
			return fmt.Errorf("the root bundle contains %.80q, which belongs to a module", it.Path)
		}
		c.from[it.Path] = place{t, e.Path}
		c.items = append(c.items, it)
		return nil
	})
}

// madeTree has generated files, which a repository never contains.
type madeTree struct{ repo.Tree }

func checkEnrolled(enrolled fleet.EnrolledTargets) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(enrolled)) {
		wrong = append(wrong, fleet.CheckName(name), fleet.CheckLabels(enrolled[name].Labels),
			enrolled[name].Environment.Check())
	}
	return errors.Join(wrong...)
}
