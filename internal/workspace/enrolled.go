package workspace

import (
	"io"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/repo"
)

// EnrolledTree is a repository with the targets of a fleet; nil is an empty one.
func EnrolledTree(t repo.Tree, all fleet.EnrolledTargets) repo.Tree {
	files := fleet.EnrolledFiles(all)
	if t == nil {
		files["fettle.hcl"] = ""
		return repo.MapTree(files)
	}
	return &overlaid{t, repo.MapTree(files)}
}

// overlaid is a tree with fleet.EnrolledFiles at its top.
type overlaid struct {
	repo.Tree
	over repo.Tree
}

func (o *overlaid) of(path string) repo.Tree {
	if fleet.IsEnrolledFile(path) {
		return o.over
	}
	return o.Tree
}

func (o *overlaid) ReadFile(path string) ([]byte, error) { return o.of(path).ReadFile(path) }

func (o *overlaid) Open(path string) (io.ReadCloser, error) { return o.of(path).Open(path) }

func (o *overlaid) Stat(path string) (repo.Entry, error) { return o.of(path).Stat(path) }

func (o *overlaid) Readlink(path string) (string, error) { return o.of(path).Readlink(path) }

func (o *overlaid) Digest(path string) (string, int64, error) { return o.of(path).Digest(path) }

func (o *overlaid) ReadDir(path string) ([]repo.Entry, error) {
	list, err := o.Tree.ReadDir(path)
	if err != nil || path != "." {
		return list, err
	}
	own, err := o.over.ReadDir(path)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(e repo.Entry) bool { return fleet.IsEnrolledFile(e.Path) })
	list = append(list, own...)
	slices.SortFunc(list, func(a, b repo.Entry) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}
