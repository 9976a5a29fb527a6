package host

import (
	"context"
	"slices"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/ui/cli"
	"fettle.dev/fettle/internal/window"
)

// inside returns a planner that refuses a plan with changes outside of the windows of the target.
func (f *windowsFlag) inside(look planner) planner {
	if f.reason != "" {
		return look
	}
	return func(ctx context.Context, m *cli.Member, x executor.Executor) (*seen, error) {
		w, err := look(ctx, m, x)
		if err == nil {
			err = insideWindows(ctx, m.Session, m.Entry.Windows, w.plan)
		}
		return w, err
	}
}

// insideWindows refuses a plan with changes outside of windows. The first content of a target waits for no window.
func insideWindows(ctx context.Context, s *cli.Session, all []window.Window, p *plan.Plan) error {
	if len(all) == 0 || p.Base == 0 || p.Empty() {
		return nil
	}
	zone, err := s.TimeZoneOfTarget(ctx)
	if err != nil {
		return err
	}
	set, err := window.Compile(all, zone)
	if err != nil {
		return cli.Refuse(overrideWindows, err.Error())
	}
	if why := set.At(s.App.Now()).Why; why != "" {
		return cli.Refuse(overrideWindows, "cannot apply: the target is "+why)
	}
	return nil
}

const overrideWindows = "Wait until the window opens\nOr apply now: add --ignore-windows REASON"

// windowsOf returns the windows of the target of the command.
func windowsOf(ctx context.Context, s *cli.Session) ([]window.Window, error) {
	src, err := s.HubAccess.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	all, err := cli.Inventory(s, src)
	if i := slices.IndexFunc(all, func(t query.Target) bool { return t.Name == s.Target }); err == nil && i >= 0 {
		return all[i].Windows, nil
	}
	return nil, err
}
