package waves

import (
	"fmt"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/rollout/declared"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/ui/cli"
)

// order returns the order of a rollout. It refuses conditions of the strategy that only a hub can meet.
func (r Rollout) order(s rollout.Strategy, blocks []query.StrategyAfter) (o push.Order, err error) {
	adapted, why := push.Adapt(s)
	if why != "" {
		return o, refused(r.Strategy, why)
	}
	o = push.Order{Strategy: adapted, Content: contentOf(r.Targets), Cause: causeOf(r.Targets.Source.Rev),
		Targets: slices.Sorted(slices.Values(r.Targets.Names)), Labels: r.Targets.Labels(),
		Parallel: r.Targets.Options.Parallel, Resume: r.Resume, Operator: r.Targets.Session.User(),
		Asks: r.asks(), Answers: r.answers()}
	if !r.IgnoreWindows {
		o.Windows = r.Targets.Windows()
	}
	if o.Afters, why, err = r.afters(blocks); err != nil {
		return o, err
	}
	if why == "" {
		why = o.Impossible()
	}
	if why != "" {
		return o, cli.Refuse("Select more targets with -t, or use another strategy, such as --rollout careful",
			fmt.Sprintf("cannot use the strategy %q for these targets: %s", r.Strategy, why))
	}
	return o, nil
}

// strategy returns a strategy of the repository, or a built-in one.
func (r Rollout) strategy() (s rollout.Strategy, afters []query.StrategyAfter, err error) {
	all, ds := compile.Ask(r.Targets.Session.App.Language.Queries,
		compile.StrategiesQuery{About: r.Targets.Source.About()})
	if err := ds.Err(); err != nil {
		return s, nil, err
	}
	ids := map[string]fleet.TargetID{}
	for _, n := range r.Targets.Names {
		ids[n] = fleet.TargetID(n)
	}
	s, ok := declared.Named(all, r.Strategy, ids)
	names := []string{"careful", "at-once"}
	for _, d := range all {
		names = append(names, d.Name)
		if d.Name == r.Strategy {
			afters = d.Afters
		}
	}
	if !ok {
		return s, nil, cli.Misused(cli.Refuse("Use one of: "+strings.Join(slices.Sorted(slices.Values(names)), ", "),
			fmt.Sprintf("cannot find the strategy %q: no rollout block of the repository has this name", r.Strategy)))
	}
	return s, afters, nil
}

func refused(strategy, why string) error {
	return cli.Refuse("Use another strategy, such as --rollout careful",
		fmt.Sprintf("cannot use the strategy %q without a hub: %s", strategy, why))
}
