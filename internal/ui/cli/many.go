package cli

import (
	"context"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/round"
)

// Round performs an operation on targets, and shows it while it happens. report prints every
// outcome as a document line where --json asks for it.
func (cr *TargetSet) Round(ctx context.Context, names []string, doing string, report bool,
	one func(context.Context, *Member, executor.Executor) round.Outcome) map[string]round.Outcome {
	board := cr.Session.board(doing, len(names), cr.Quiet)
	interrupts, release := cr.Session.Interrupts()
	defer release()
	r := round.Round{Options: cr.Options, Part: cr.Part, Interrupts: interrupts, Observe: board.Show,
		Work: func(ctx context.Context, name string) round.Outcome { return cr.on(ctx, cr.members[name], one) }}
	if report {
		r.Ended = func(name string, o round.Outcome) { TargetLine(cr.Session.Printer, name, o) }
	}
	all, stopped := r.Run(ctx, names)
	if stopped != "" {
		cr.Stopped = stopped
	}
	board.Close()
	cr.tellNotes(names, all)
	return all
}

// tellNotes tells each note of a target once, with its name: other targets have others.
func (cr *TargetSet) tellNotes(names []string, all map[string]round.Outcome) {
	for _, name := range names {
		for _, n := range all[name].Notes {
			if text := name + ": " + n; !cr.noted[text] {
				cr.noted[text] = true
				cr.Session.ErrStyle().Warning(cr.Session.App.Stderr, text)
			}
		}
	}
}

// on works on one target: it is reached, and left again if there are too many to
// stay.
func (cr *TargetSet) on(ctx context.Context, m *Member,
	one func(context.Context, *Member, executor.Executor) round.Outcome) round.Outcome {
	x, done, err := m.connectMember(ctx, cr.Acts)
	if err != nil {
		return Failed(err)
	}
	defer func() {
		_ = done()
		if !cr.keep {
			m.Leave()
		}
	}()
	return one(ctx, m, m.patient(x))
}

// connectMember connects to the machine of a target. On this machine, only a command that acts creates
// a state directory.
func (m *Member) connectMember(ctx context.Context, acts bool) (executor.Executor, func() error, error) {
	nothing := func() error { return nil }
	if m.Remote != nil {
		return m.Remote, nothing, nil
	}
	if m.here {
		mach, err := m.Machine()
		if err != nil {
			return nil, nil, err
		}
		mach.ReadOnly = !acts && !FileExists(mach.State)
		return m.App.OpenExecutor(ctx, mach)
	}
	w, err := m.wayTo(m.Entry, false)
	if err != nil {
		return nil, nil, round.Unreachable(err)
	}
	x, err := Connect(ctx, m.Session, w, true)
	if err != nil {
		return nil, nil, err
	}
	m.Remote, m.At = x, w
	return x, nothing, nil
}

// Failed is the outcome of an error, with the hint about the next command.
func Failed(err error) round.Outcome { return round.Failed(err, hintOf(err)) }

// RequestFor compiles what a member should be, from a repository that is open.
func (cr *TargetSet) RequestFor(ctx context.Context, m *Member) (executor.Request, error) {
	if cr.Source.None != nil {
		return executor.Request{}, cr.Source.None
	}
	in, err := m.Input(ctx, cr.Source.Tree, m.Target)
	if err != nil {
		return executor.Request{}, err
	}
	in.NeedSecrets = true
	return m.ListOf(cr.Source, in)
}

// Visit performs an operation on one target. Several goroutines can visit different targets at the same time.
func (cr *TargetSet) Visit(ctx context.Context, name string,
	one func(context.Context, *Member, executor.Executor) round.Outcome) round.Outcome {
	return cr.on(ctx, cr.members[name], one)
}
