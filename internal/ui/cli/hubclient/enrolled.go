package hubclient

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/repo"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/workspace"
)

// Open opens the repository for what -t names. Where a hub has a say, its targets
// are in the repository as its agents have them; where there is no repository they are
// all there is, and nothing can be compiled.
func (a *hubAccess) Open(ctx context.Context) (*workspace.Source, error) {
	s := a.s
	src, err := s.OpenSource(ctx, s.Rev)
	if !mayAskHub(s) || err != nil && !errors.Is(err, workspace.ErrNoRepository) {
		return src, err
	}
	none := err
	if none == nil {
		if asks, err := asksHub(s, src); err != nil || !asks {
			return src, closedOn(src, err)
		}
	}
	all, err := FleetTargets(ctx, s)
	switch {
	case err != nil && none != nil:
		return nil, errors.Join(none, err)
	case err != nil && withoutHub(s, err):
		return src, nil
	case err != nil:
		return src, closedOn(src, cli.WithHint(err, "Do not use the hub: --via ssh"))
	case none != nil:
		return &workspace.Source{None: none, Tree: EnrolledTree(nil, all)}, nil
	}
	src.Tree, src.Enrolled = EnrolledTree(src.Tree, all), true
	return src, nil
}

// closedOn closes a source where there is an error, which it gives.
func closedOn(src *workspace.Source, err error) error {
	if err != nil {
		src.Close()
	}
	return err
}

// asksHub reports whether the hub is needed to evaluate -t. It is not needed if the repository
// contains each name with its address.
func asksHub(s *cli.Session, src *workspace.Source) (bool, error) {
	words := s.Words
	if s.Target != "" {
		words = []string{s.Target}
	}
	names, plain := cli.PlainNames(words)
	if !plain || s.ConnectOpts.Via.Value == cli.ViaHub {
		return true, nil
	}
	all, err := cli.Inventory(s, src)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		i := slices.IndexFunc(all, func(t query.Target) bool { return t.Name == name })
		if !cli.IsThisHost(s.Printer, name) && (i < 0 || all[i].SSH == nil) {
			return true, nil
		}
	}
	return false, nil
}

// FleetTargets are the labels of the active targets of the fleet, by name.
func FleetTargets(ctx context.Context, s *cli.Session) (map[string]map[string]string, error) {
	hub, _, err := asHub(ctx, s)
	if err != nil {
		return nil, err
	}
	page, err := client.GetAt(ctx, hub, route.Targets(), route.TargetQuery{})
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	for _, t := range page.Targets {
		if t.Standing == fleet.Active {
			out[t.Name] = t.Labels
		}
	}
	return out, nil
}

// Selected returns the targets that a hub selects. The hub has the list of failed targets, and
// reads no files of this machine.
func (a *hubAccess) Selected(ctx context.Context) ([]query.Target, error) {
	s := a.s
	words, err := SelectedOnHub(s)
	if err != nil {
		return nil, err
	}
	hub, _, err := asHub(ctx, s)
	if err != nil {
		return nil, err
	}
	page, err := client.GetAt(ctx, hub, route.Targets(), route.TargetQuery{Select: words})
	if err != nil {
		return nil, err
	}
	var out []query.Target
	for _, t := range page.Targets {
		if t.Standing == fleet.Active {
			out = append(out, query.Target{Name: t.Name, Labels: t.Labels, Enrolled: true})
		}
	}
	return out, nil
}

// EnrolledTree is a repository with the targets of a fleet; nil is an empty one.
func EnrolledTree(t repo.Tree, all map[string]map[string]string) repo.Tree {
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

func (o *overlaid) ReadFile(path string) ([]byte, error)      { return o.of(path).ReadFile(path) }
func (o *overlaid) Open(path string) (io.ReadCloser, error)   { return o.of(path).Open(path) }
func (o *overlaid) Stat(path string) (repo.Entry, error)      { return o.of(path).Stat(path) }
func (o *overlaid) Readlink(path string) (string, error)      { return o.of(path).Readlink(path) }
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
