package content

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// EnrolledFile is the file at the top of a composed tree that declares targets which
// the repository does not. No repository may have one.
const EnrolledFile = "enrolled.fettle.json"

// Enrolled is a target that the fleet knows and the repository does not declare.
type Enrolled struct {
	Name   string
	Labels map[string]string
}

// Compose makes the tree that a target's list is compiled from: the top, each module at
// its folder ("modules/web"), and the targets that are enrolled. Nothing is copied; the
// parts have to stay. The same parts give a tree of the same repo.TreeDigest; all parts
// of a commit give that of the commit, but for files right below modules/.
func Compose(top repo.Tree, modules map[string]repo.Tree, enrolled ...Enrolled) (repo.Tree, error) {
	if _, err := top.Stat(EnrolledFile); err == nil {
		return nil, fmt.Errorf("cannot compose: the repository has a file %s, whose name is the fleet's; rename it", EnrolledFile)
	}
	c := composer{from: map[string]place{}}
	c.add(top, "")
	for _, dir := range slices.Sorted(maps.Keys(modules)) {
		if dir == Top || PartOf(dir) != dir || path.Clean(dir) != dir {
			return nil, fmt.Errorf("cannot compose: %.80q is no folder of a module", dir)
		}
		c.add(modules[dir], dir)
	}
	if len(enrolled) > 0 {
		text, err := enrolledText(enrolled)
		if err != nil {
			return nil, err
		}
		c.add(repo.MapTree(map[string]string{EnrolledFile: text}), "")
	}
	if c.err != nil {
		return nil, fmt.Errorf("cannot compose: %w", c.err)
	}
	slices.SortFunc(c.items, func(a, b repo.Item) int { return strings.Compare(a.Path, b.Path) })
	if err := checkTwins(c.items); err != nil {
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
	c.err = repo.Walk(t, ".", func(e repo.Entry) error {
		it, err := itemOf(t, e)
		if err != nil {
			return err
		}
		it.Path = path.Join(dir, e.Path)
		switch {
		case dir == "" && (it.Path == "modules" || strings.HasPrefix(it.Path, "modules/")):
			return fmt.Errorf("the top holds %.80q, which belongs to a module", it.Path)
		}
		c.from[it.Path] = place{t, e.Path}
		c.items = append(c.items, it)
		return nil
	})
}

// enrolledText is the file of enrolled targets, the same for the same targets.
func enrolledText(enrolled []Enrolled) (string, error) {
	type body struct {
		Labels map[string]string `json:"labels"`
	}
	out := map[string]body{}
	for _, e := range enrolled {
		if err := errors.Join(fleet.CheckName(e.Name), fleet.CheckLabels(e.Labels)); err != nil {
			return "", err
		}
		if _, twice := out[e.Name]; twice {
			return "", fmt.Errorf("cannot compose: the target %s is enrolled twice", e.Name)
		}
		labels := e.Labels
		if labels == nil {
			labels = map[string]string{}
		}
		out[e.Name] = body{labels}
	}
	b, err := json.Marshal(map[string]any{"enrolled": out})
	return string(b) + "\n", err
}
