package local

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"fettle.dev/fettle/internal/apply"
	"fettle.dev/fettle/internal/diag"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// tellPackages asks dpkg and apt about the package changes of a plan, and adds the
// answers. A plan without such changes costs nothing. The diagnostics are changes
// that apt refuses.
func (x *planner) tellPackages(ctx context.Context, p *plan.Plan, st journal.State, wanted step.List,
	skipBlocked bool) diag.List {
	if p == nil {
		return nil
	}
	if problems := p.BlockHeld(skipBlocked); problems.HasErrors() {
		return problems
	}
	wants := pkg.Wanted(wanted)
	a := plan.PackageAnswers{Claimed: func(name string) bool { return wants[name] }, SkipBlocked: skipBlocked}
	h, err := x.host.Packages()
	if moves := packageMoves(p); err == nil {
		x.foretell(ctx, h, moves, apply.Brought(st.Entries), wants, &a)
	}
	if going := p.PackagesRemoved(); len(going) > 0 {
		for name := range a.Along {
			going = append(going, name)
		}
		if err == nil {
			a.Remains, err = h.Remains(ctx, going)
		}
		if err != nil {
			a.Unknown = err.Error()
		}
	}
	problems := p.AddPackageAnswers(a)
	if h != nil {
		problems = append(problems, p.AddDisplaced(displaced(ctx, h, p, a), a.Claimed)...)
		problems = append(problems, x.tellOffers(ctx, h, p)...)
	}
	return problems
}

// tellOffers adds apt's offers for the packages that a plan installs. If apt fails, the
// plan contains the reason and stays valid: the run may succeed.
func (x *planner) tellOffers(ctx context.Context, h host.Packages, p *plan.Plan) diag.List {
	var changes []host.PackageChange
	coming := p.OfferIndexes()
	for _, i := range coming {
		c := host.PackageChange{Name: p.Changes[i].Addr.Name(), Version: p.Changes[i].To.Package().Version}
		if c.Version == image.Candidate {
			c.Version = ""
		}
		if p.Changes[i].From.Package().Held {
			c.Held = &p.Changes[i].To.Package().Held
		}
		changes = append(changes, c)
	}
	var o host.PackageOffers
	if len(changes) > 0 {
		var err error
		if o, err = h.Offers(ctx, changes); err != nil {
			o.Failure = err.Error()
		} else if len(p.PackagesRemoved()) > 0 {
			o.Failure = "" // a package to remove may conflict with a package to install
		}
	}
	return p.AddOffers(o)
}

// foretell simulates which dependencies are removed together with the packages of moves.
// A package that other packages need is omitted, and then also its own dependencies. This
// repeats until apt would remove no further package.
func (x *planner) foretell(ctx context.Context, h host.Packages, moves []*verb.GroupMove, brought []string,
	wants map[string]bool, a *plan.PackageAnswers) {
	env := verb.Env{Host: x.host, Names: x.names, Claimed: func() map[string]bool { return wants }, Brought: brought,
		Progress: func(host.Progress) {}, Note: func(string) {}}
	a.Needed, a.Along = map[string][]string{}, map[string]plan.AlongsideChange{}
	var going, coming []*verb.GroupMove
	for _, m := range moves {
		if m.To.Package().Version == "" {
			going = append(going, m)
		} else {
			coming = append(coming, m)
		}
	}
	for {
		come := feasible(ctx, h, going, coming)
		if len(going) == 0 && !slices.ContainsFunc(come,
			func(m *verb.GroupMove) bool { return len(m.To.Package().AlsoChanged) > 0 }) {
			return
		}
		along, err := pkg.Pkg{}.Foretell(ctx, env, slices.Concat(going, come))
		left := going
		var needed *pkg.NeededError
		if errors.As(err, &needed) {
			left = stay(ctx, h, going, needed.By, a.Needed)
		} else if err != nil {
			left = stayFor(ctx, h, going, coming, a.Needed)
		}
		if len(left) < len(going) {
			going = left
			continue
		}
		for name, version := range along.Removed {
			a.Along[name] = plan.AlongsideChange{Version: version, Other: along.Others[name]}
		}
		for name, why := range along.StayReasons {
			a.Along[name] = plan.AlongsideChange{StayReason: why}
		}
		return
	}
}

func possible(ctx context.Context, h host.Packages, moves []*verb.GroupMove) bool {
	_, err := h.Simulate(ctx, pkg.Changes(moves))
	return err == nil
}

// feasible are the installations to simulate together with the removals. If apt can make
// them neither with the removals nor alone, they are the packages for which earlier
// transactions installed dependencies.
func feasible(ctx context.Context, h host.Packages, going, coming []*verb.GroupMove) []*verb.GroupMove {
	if len(coming) == 0 || possible(ctx, h, slices.Concat(going, coming)) || possible(ctx, h, coming) {
		return coming
	}
	return slices.DeleteFunc(slices.Clone(coming),
		func(m *verb.GroupMove) bool { return len(m.To.Package().AlsoChanged) == 0 })
}

// stayFor omits each removal that makes an installation of the same plan impossible, and
// records the reason. A package that can only be installed with others, or with the
// removal, proves nothing alone.
func stayFor(ctx context.Context, h host.Packages, going, coming []*verb.GroupMove,
	needed map[string][]string) []*verb.GroupMove {
	tied := len(coming) > 0 && possible(ctx, h, coming)
	return slices.DeleteFunc(slices.Clone(going), func(g *verb.GroupMove) bool {
		name := g.Step.Args[0]
		if g.From.Package().Version == "" || possible(ctx, h, append(slices.Clone(coming), g)) ||
			!possible(ctx, h, []*verb.GroupMove{g}) {
			return false
		}
		for _, c := range coming {
			if (tied || possible(ctx, h, []*verb.GroupMove{c})) && !possible(ctx, h, []*verb.GroupMove{c, g}) {
				needed[name] = append(needed[name], c.Step.Args[0])
			}
		}
		return len(needed[name]) > 0
	})
}

// stay omits the removals that would also remove some of by, and records the reason.
func stay(ctx context.Context, h host.Packages, moves []*verb.GroupMove, by []string,
	needed map[string][]string) []*verb.GroupMove {
	return slices.DeleteFunc(slices.Clone(moves), func(m *verb.GroupMove) bool {
		if m.To.Package().Version != "" || m.From.Package().Version == "" {
			return false
		}
		c := host.PackageChange{Name: m.Step.Args[0], Absent: true}
		if m.From.Package().Held {
			c.Held = &m.To.Package().Held
		}
		o, err := h.Outlook(ctx, []host.PackageChange{c}, nil)
		if err != nil {
			return false
		}
		for _, name := range o.Removes {
			if slices.Contains(by, name) {
				needed[c.Name] = append(needed[c.Name], name)
			}
		}
		return len(needed[c.Name]) > 0
	})
}

// mayPurge refuses a run that permanently deletes configuration or data of packages,
// unless the operator consented to that.
func mayPurge(p *plan.Plan, o executor.Options) error {
	all := p.Purges()
	if len(all) == 0 || o.CrossIrreversible {
		return nil
	}
	return fmt.Errorf("cannot apply: %s: %s; nothing was changed; to continue, add --cross-irreversible: %w",
		all[0].Addr, all[0].Irreversible, executor.ErrIrreversible)
}
