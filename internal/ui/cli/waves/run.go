package waves

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/compile"
	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/fleet/rollout/declared"
	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/history"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// Run performs a new rollout, or continues the last one if it has the same content, targets and strategy.
func (r Rollout) Run(ctx context.Context) error {
	strategy, err := r.strategy()
	if err != nil {
		return err
	}
	file := cli.RolloutFile(r.Targets.Session.Printer, r.Targets.Source)
	if file == "" {
		return cli.Refuse("Set HOME or XDG_STATE_HOME", "cannot keep the log of the rollout: there is no directory for it")
	}
	lines, err := history.OpenLog(file, fmt.Sprintf("%s (process %d)", r.Targets.Session.Command, os.Getpid()))
	if err != nil {
		return hint.With(err, "Wait until the other process ends")
	}
	defer func() { _ = lines.Close() }()
	log, err := push.NewLog(lines, lines.Lines)
	if err != nil {
		return cli.Refuse("Remove the file to begin a new rollout: rm "+file, fmt.Sprintf("cannot read %s: %v", file, err))
	}
	adapted, why := push.Adapt(strategy)
	if why != "" {
		return refused(r.Strategy, why)
	}
	order := push.Order{Strategy: adapted, Content: contentOf(r.Targets), Cause: causeOf(r.Targets.Source.Rev),
		Targets: slices.Sorted(slices.Values(r.Targets.Names)), Labels: r.Targets.Labels(),
		Parallel: r.Targets.Options.Parallel, Resume: r.Resume, Operator: r.Targets.Session.User(),
		Asks: r.asks(), Answers: r.answers()}
	if !r.IgnoreWindows {
		order.Windows = r.Targets.Windows()
	}
	m, err := r.begin(ctx, log, order)
	if err != nil {
		return err
	}
	p := &performed{Rollout: r, cr: r.Targets, rules: strategy, last: map[string]round.Outcome{},
		failed: map[string]round.Outcome{}, closed: map[string]bool{}}
	return p.run(ctx, m, log)
}

// strategy returns a strategy of the repository, or a built-in one. Strategies with conditions that only a hub observes
// are refused.
func (r Rollout) strategy() (rollout.Strategy, error) {
	all, ds := compile.Ask(r.Targets.Session.App.Language.Queries,
		compile.StrategiesQuery{About: r.Targets.Source.About()})
	if err := ds.Err(); err != nil {
		return rollout.Strategy{}, err
	}
	ids := map[string]fleet.TargetID{}
	for _, n := range r.Targets.Names {
		ids[n] = fleet.TargetID(n)
	}
	s, ok := declared.Named(all, r.Strategy, ids)
	names := []string{"careful", "at-once"}
	for _, d := range all {
		names = append(names, d.Name)
		if d.Name == r.Strategy && len(d.Afters) > 0 {
			return s, refused(r.Strategy, "it has after blocks")
		}
	}
	if !ok {
		return s, cli.Misused(cli.Refuse("Use one of: "+strings.Join(slices.Sorted(slices.Values(names)), ", "),
			fmt.Sprintf("cannot find the strategy %q: no rollout block of the repository has this name", r.Strategy)))
	}
	return s, nil
}

func refused(strategy, why string) error {
	return cli.Refuse("Use another strategy, such as --rollout careful",
		fmt.Sprintf("cannot use the strategy %q without a hub: %s", strategy, why))
}

// begin returns the machine of a new or continued rollout.
func (r Rollout) begin(ctx context.Context, log *push.Log, o push.Order) (*push.Machine, error) {
	m := push.New(o)
	if push.Continues(o, log.Records) {
		r.Targets.Session.Printf("Continuing the rollout of %s.\n", o.Cause)
		m.Fold(log.Records)
		return m, r.fits(m.Rollout())
	}
	if o.Resume {
		return nil, cli.Refuse("Omit --resume: a new rollout begins",
			"cannot resume: there is no paused rollout of this content with this strategy and these targets")
	}
	if err := r.fits(nil); err != nil {
		return nil, err
	}
	if err := r.Ask(ctx, fmt.Sprintf("Apply these plans in waves, with the strategy %s?", o.Strategy.Name)); err != nil {
		return nil, err
	}
	return m, log.Begin(o)
}

// run performs the rollout and shows its events.
func (p *performed) run(ctx context.Context, m *push.Machine, log *push.Log) error {
	p.cr.Changes, p.cr.Acts = true, true
	interrupts, release := p.cr.Session.Interrupts()
	defer release()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	d := push.Driver{Machine: m, Store: log.Append, Do: p.do, Ask: p.asker(), Now: p.cr.Session.App.Now, Tick: tick.C,
		Interrupts: interrupts, Observe: func(e rollout.Event) { show(p.cr.Session, m.Rollout(), e) }}
	err := d.Run(ctx)
	if err != nil && !errors.Is(err, push.ErrInterrupted) {
		return err
	}
	if why := m.AllClosed(); why != "" && err == nil {
		return cli.Refuse("Wait until the window opens\nOr change the targets now: add --ignore-windows REASON",
			"cannot begin the rollout: "+why)
	}
	return p.finish(m, err != nil)
}
