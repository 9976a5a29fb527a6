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

// Compose makes the tree that a target's list is compiled from: the top, each module at
// its directory ("modules/web"), and fleet.EnrolledFiles with the labels of targets by name
// where there are any; one of the repository's own gives way. Nothing is copied; the
// parts have to stay. The same parts give a tree of the same repo.TreeDigest; all parts
// of a commit give that of the commit, but for files right below modules/.
func Compose(top repo.Tree, modules map[string]repo.Tree, enrolled map[string]map[string]string) (repo.Tree, error) {
	if len(enrolled) == 0 {
		return ComposeWith(top, modules, nil)
	}
	if err := checkEnrolled(enrolled); err != nil {
		return nil, fmt.Errorf("cannot compose: %w", err)
	}
	return ComposeWith(top, modules, fleet.EnrolledFiles(enrolled))
}

// ComposeWith is Compose with the texts of files that are made, fleet.EnrolledFile and
// exported.File, by name. Those of the repository's own give way in any case.
func ComposeWith(top repo.Tree, modules map[string]repo.Tree, made map[string]string) (repo.Tree, error) {
	c := composer{from: map[string]place{}}
	c.add(top, "")
	for _, dir := range slices.Sorted(maps.Keys(modules)) {
		if dir == Top || PartOf(dir) != dir || path.Clean(dir) != dir {
			return nil, fmt.Errorf("cannot compose: %.80q is no directory of a module", dir)
		}
		c.add(modules[dir], dir)
	}
	if len(made) > 0 {
		c.add(madeTree{repo.MapTree(made)}, "")
	}
	if c.err != nil {
		return nil, fmt.Errorf("cannot compose: %w", c.err)
	}
	slices.SortFunc(c.items, func(a, b repo.Item) int { return strings.Compare(a.Path, b.Path) })
	if err := checkDuplicates(c.items); err != nil {
		return nil, fmt.Errorf("cannot compose: %w", err)
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
			return fmt.Errorf("the top holds %.80q, which belongs to a module", it.Path)
		}
		c.from[it.Path] = place{t, e.Path}
		c.items = append(c.items, it)
		return nil
	})
}

// madeTree has the files that are made and never committed.
type madeTree struct{ repo.Tree }

func checkEnrolled(enrolled map[string]map[string]string) error {
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(enrolled)) {
		wrong = append(wrong, fleet.CheckName(name), fleet.CheckLabels(enrolled[name]))
	}
	return errors.Join(wrong...)
}
