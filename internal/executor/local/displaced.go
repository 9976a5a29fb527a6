package local

import (
	"context"
	"slices"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// displaced simulates with apt which packages the installations of a plan remove. If apt
// cannot make the changes, the result is empty, and the offers contain the reason.
func displaced(ctx context.Context, h host.Packages, p *plan.Plan, a plan.PackageAnswers) []plan.Displaced {
	known := p.PackagesInstalled()
	var going, come []*verb.GroupMove
	for _, m := range packageMoves(p) {
		switch {
		case m.To.Package().Version == "":
			going = append(going, m)
		case slices.Contains(known, m.Step.Args[0]):
			come = append(come, m)
		}
	}
	if len(come) == 0 {
		return nil
	}
	gone := slices.DeleteFunc(leaves(ctx, h, slices.Concat(going, come)), func(name string) bool {
		along, told := a.Along[name]
		return told && along.StayReason == ""
	})
	if len(gone) == 0 {
		return nil
	}
	return byConflict(ctx, h, come, gone)
}

// byConflict returns, for each removed package, the first package whose installation
// removes it.
func byConflict(ctx context.Context, h host.Packages, come []*verb.GroupMove, gone []string) []plan.Displaced {
	by := map[string]string{}
	for _, m := range come {
		for _, name := range leaves(ctx, h, []*verb.GroupMove{m}) {
			if by[name] == "" {
				by[name] = m.Step.Args[0]
			}
		}
	}
	now, err := h.Installed(ctx, gone)
	var out []plan.Displaced
	for _, name := range gone {
		d := plan.Displaced{Name: name, By: by[name], Lost: err != nil || !pkg.CanKeep(ctx, h, name, now[name].Version)}
		if d.By == "" { // only all together displace it
			d.By = come[0].Step.Args[0]
		}
		out = append(out, d)
	}
	return out
}

// leaves are the packages that apt removes although none of the moves does.
func leaves(ctx context.Context, h host.Packages, moves []*verb.GroupMove) []string {
	o, err := h.Outlook(ctx, pkg.Changes(moves), nil)
	if err != nil {
		return nil
	}
	return o.Removes
}

// packageMoves are the changes of packages of a plan.
func packageMoves(p *plan.Plan) []*verb.GroupMove {
	var out []*verb.GroupMove
	for _, c := range p.Changes {
		if c.Addr.Kind() != addr.KindPkg || !c.Action.Mutates() || c.From == nil || c.To == nil || c.From.Package() == nil ||
			c.To.Package() == nil {
			continue
		}
		out = append(out, &verb.GroupMove{Step: c.StepOrApplied(), From: *c.From, To: *c.To, Hold: c.OwnsHold()})
	}
	return out
}
