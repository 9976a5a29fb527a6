package hubclient

import (
	"context"
	"errors"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/internal/lang/query"
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
		return &workspace.Source{None: none, Tree: workspace.EnrolledTree(nil, all)}, nil
	}
	src.Tree, src.Enrolled = workspace.EnrolledTree(src.Tree, all), true
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
