package hubclient

import (
	"context"
	"errors"
	"slices"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
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

// FleetTargets are the active targets of the fleet with their labels and the environments that operators created.
func FleetTargets(ctx context.Context, s *cli.Session) (fleet.EnrolledTargets, error) {
	hub, _, err := asHub(ctx, s)
	if err != nil {
		return nil, err
	}
	page, err := client.GetAt(ctx, hub, route.Targets(), route.TargetQuery{})
	if err != nil {
		return nil, err
	}
	out := fleet.EnrolledTargets{}
	for _, t := range page.Targets {
		if t.Standing == fleet.Active {
			out[t.Name] = fleet.EnrolledTarget{Labels: t.Labels}
		}
	}
	return out, addEnvironments(ctx, hub, out)
}

// addEnvironments adds the environments in force to targets. A hub that does not show environments to the user has
// none.
func addEnvironments(ctx context.Context, hub *client.Client, all fleet.EnrolledTargets) error {
	page, err := client.Get(ctx, hub, route.Environments())
	if err != nil {
		if _, refused := errors.AsType[*document.Problem](err); refused {
			return nil
		}
		return err
	}
	for _, e := range page.Environments {
		if e.State != document.EnvironmentInForce {
			continue
		}
		d, err := client.GetAt(ctx, hub, route.Environment(), route.EnvironmentName{Environment: e.Name})
		if err != nil {
			return err
		}
		in := &fleet.Environment{Name: e.Name, Parent: e.Parent, Domain: e.OwnDomain, Vars: e.Vars}
		for _, m := range d.Members {
			if t, is := all[m.Name]; is && m.Absent == "" {
				t.Environment = in
				all[m.Name] = t
			}
		}
	}
	return nil
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
