package waves

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/hint"
	"fettle.dev/fettle/internal/history"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// Run performs a new rollout, or continues the last one if it has the same content, targets and strategy.
func (r Rollout) Run(ctx context.Context) error {
	strategy, afters, err := r.strategy()
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
	order, err := r.order(strategy, afters)
	if err != nil {
		return err
	}
	m, err := r.begin(ctx, log, order)
	if err != nil {
		return err
	}
	p := &performed{Rollout: r, cr: r.Targets, rules: strategy, last: map[string]round.Outcome{},
		failed: map[string]round.Outcome{}, closed: map[string]bool{}}
	return p.run(ctx, m, log)
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
	if why := m.AllWait(); why != "" && err == nil {
		return cli.Refuse("Wait until the targets are ready: fettle status -t TARGETS\nOr use another strategy",
			"cannot begin the rollout: "+why)
	}
	return p.finish(m, err != nil)
}
