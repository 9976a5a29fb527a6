package waves

import (
	"errors"

	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/push"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/ui/cli"
)

// finish shows the result of each target and of the rollout.
func (p *performed) finish(m *push.Machine, interrupted bool) error {
	r := m.Rollout()
	if r != nil {
		p.cr.Session.Printf("\n")
	}
	all := map[string]round.Outcome{}
	for _, name := range p.cr.Names {
		all[name] = p.outcome(r, name)
		cli.TargetLine(p.cr.Session.Printer, name, all[name])
	}
	hint, err := p.end(m, cli.ExitOf(all), interrupted)
	_ = p.cr.FinishAs(err, "Applied", all, map[fanout.Status]string{fanout.OK: "in sync"})
	if hint != "" {
		p.cr.Session.ErrStyle().Hint(p.cr.Session.App.Stderr, hint)
	}
	return err
}

// end returns the error of the command, given the error of its targets. hint tells how to continue a rollout that has
// not ended.
func (p *performed) end(m *push.Machine, err error, interrupted bool) (hint string, _ error) {
	r := m.Rollout()
	switch {
	case interrupted:
		return "Continue: run the same command again\nOr roll back the changed targets: fettle rollback -t TARGETS",
			cli.WithHint(cli.Reported(errors.New("interrupted")), "")
	case len(m.Awaits()) > 0:
		return p.decide(m.Awaits()), unfinished(err)
	case r != nil && r.Phase == rollout.OnHold:
		return "Continue, and accept its failures: the same command with --resume\n" +
			"Or roll back the changed targets: fettle rollback -t TARGETS", unfinished(err)
	}
	return "", err
}

// unfinished returns the error of a command whose rollout has not ended, although no target failed.
func unfinished(err error) error {
	if err != nil {
		return err
	}
	return cli.WithHint(cli.Reported(errors.New("the rollout has not ended")), "")
}

// outcome returns the result of one target.
func (p *performed) outcome(r *rollout.Rollout, name string) round.Outcome {
	last, known := p.last[name]
	failed, broken := p.failed[name]
	var m *rollout.Member
	if r != nil {
		m = r.Members[rollout.ID(name)]
	}
	switch {
	case m == nil && broken:
		return failed
	case m == nil && known && last.Status != fanout.Changed, m != nil && m.State == rollout.MemberReady && known:
		return last
	case m == nil || m.State == rollout.MemberPending && last.Status != fanout.Unreachable:
		return skipped("the rollout stopped before it was changed")
	}
	switch m.State {
	case rollout.MemberReturned:
		if broken {
			failed.Body += "It was rolled back.\n"
			return failed
		}
		return skipped("rolled back: " + r.Why)
	case rollout.MemberFailed, rollout.MemberSilent:
		return failedMember(r, m, last, failed)
	case rollout.MemberGranted:
		return skipped("its change began, and it is not ready yet")
	}
	return last
}

func skipped(why string) round.Outcome { return round.Outcome{Status: fanout.Skipped, Line: why} }

// failedMember is the result of a target that has the change and is not ready.
func failedMember(r *rollout.Rollout, m *rollout.Member, last, failed round.Outcome) round.Outcome {
	if failed.Err == nil {
		failed = cli.Failed(errors.New(m.Why))
	}
	if r.Phase == rollout.RolledBack {
		failed.Body += "It still has the change. The rollback failed: " + last.Line + "\n"
	}
	return failed
}
