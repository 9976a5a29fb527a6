package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
	"fettle.dev/fettle/internal/round"
	"fettle.dev/fettle/internal/workspace"
)

// ManyFlags are the flags of commands that work on many targets at once.
type ManyFlags struct {
	parallel         int
	Batch, MaxFailed string
}

// perProcessor is how many targets at once a processor here keeps up with: for each it
// encrypts, compiles and compares.
const perProcessor = 25

// ManyMark on a command means that it accepts a selection of targets.
const ManyMark = "many"

// Flags defines the flags.
func (f *ManyFlags) Flags(c *cobra.Command) {
	c.Annotations = map[string]string{ManyMark: "yes"}
	NumberVar(c.Flags(), &f.parallel, "parallel", 0, 0,
		"work on this `NUMBER` of targets at once (default: 50, or 25 for each CPU of this host if that is less)")
	amountVar(c, &f.Batch, "batch", "finish this `NUMBER|PERCENT` of targets before others begin, such as 5 or 10%")
	amountVar(c, &f.MaxFailed, "max-failed",
		"begin no further targets if more than this `NUMBER|PERCENT` failed, such as 0 or 10%")
}

// Options reads the options of a fan-out. The error is one of the command line.
func (f *ManyFlags) Options() (fanout.Options, error) {
	o := fanout.Options{Parallel: f.parallel}
	if f.parallel == 0 {
		o.Parallel = min(fanout.DefaultParallel, perProcessor*runtime.NumCPU())
	}
	var err error
	if f.Batch != "" {
		if o.Batch, err = amount.Parse(f.Batch); err != nil {
			return o, fmt.Errorf("cannot use --batch: %w", err)
		}
	}
	if f.MaxFailed != "" {
		most, err := amount.Parse(f.MaxFailed)
		if err != nil {
			return o, fmt.Errorf("cannot use --max-failed: %w", err)
		}
		o.MaxFailed = &most
	}
	return o, nil
}

// IsMany tells whether the command line names a selection of targets.
func (f *targetFlags) IsMany() bool { return len(f.Words) > 0 && f.Target == "" }

// TargetSet is the targets that a command works on, each with a session of its own.
type TargetSet struct {
	Session *Session
	Source  *workspace.Source
	Options fanout.Options
	Names   []string
	members map[string]*Member
	cache   host.FS // of the lists of all, nil for none
	uncache func() error
	keep    bool   // connections between two rounds
	Changes bool   // the results of targets are recorded, for @failed
	Acts    bool   // this round records something on targets
	Quiet   bool   // rounds are not shown while they happen
	Part    string // of the command that runs
	Stopped string // the reason why a round began no further targets
	noted   map[string]bool
}

// Member is one target of many. Its own output is discarded.
type Member struct {
	*Session
	Entry query.Target
	Work  any  // the result of a round for the next round
	here  bool // it is this machine
}

// TargetSet finds the targets that -t selects. The caller closes it.
func (s *Session) TargetSet(ctx context.Context, f ManyFlags) (*TargetSet, error) {
	src, err := s.HubAccess.Open(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := s.choose(ctx, src)
	if err != nil {
		src.Close()
		return nil, err
	}
	return s.TargetSetOf(src, f, chosen)
}

// TargetSetOf is these targets of an open repository, which it closes.
func (s *Session) TargetSetOf(src *workspace.Source, f ManyFlags, chosen []query.Target) (*TargetSet, error) {
	cr := &TargetSet{Session: s, Source: src, members: map[string]*Member{}, noted: map[string]bool{}}
	o, err := f.Options()
	if err != nil {
		cr.Close()
		return nil, err
	}
	cr.Options = o
	all, err := s.Targets(src)
	if err != nil {
		cr.Close()
		return nil, err
	}
	cr.openCache(len(chosen))
	for _, t := range chosen {
		cr.Names = append(cr.Names, t.Name)
		// The only target of a repository is this machine, as without -t.
		here := s.ConnectOpts.Via.Value != ViaHub && (IsThisHost(s.Printer, t.Name) || len(all) == 1 && t.SSH == nil &&
			!t.Enrolled)
		cr.members[t.Name] = &Member{Session: s.apart(t.Name), Entry: t, here: here}
		cr.members[t.Name].cache = cr.cache
	}
	cr.keep = len(cr.Names) <= o.Parallel
	return cr, nil
}

// apart is a session for one target of many: it has what the command line says and
// no terminal.
func (s *Session) apart(target string) *Session {
	app := *s.App
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), discard{}, discard{}
	app.Terminal, app.Beside = Terminal{}, nil
	if s.App.Language.Parallel != nil {
		app.Language.Queries = s.App.Language.Parallel
	}
	sub, out := *s, *s.Printer
	out.App, out.JSON = &app, false
	sub.Printer, sub.Target, sub.Words, sub.lines, sub.Remote = &out, target, nil, nil, nil
	return &sub
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// Close closes the repository and the cache.
func (cr *TargetSet) Close() {
	for _, m := range cr.members {
		m.Leave()
	}
	if cr.uncache != nil {
		_ = cr.uncache()
	}
	cr.Source.Close()
}

// Leave closes the connection to the target.
func (m *Member) Leave() {
	m.closeRemote()
	m.Remote = nil
}

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

// ExitOf is the error that many outcomes come to: none, changes, or the one class of
// all that failed.
func ExitOf(all map[string]round.Outcome) error {
	var errs []error
	changes := false
	for _, name := range SortedNames(all) {
		o := all[name]
		switch {
		case errors.Is(o.Err, ErrChanges):
			changes = true
		case o.Err != nil:
			errs = append(errs, o.Err)
		case o.Status == fanout.Skipped:
			errs = append(errs, errors.New(o.Line))
		}
	}
	if len(errs) == 0 {
		if changes {
			return ErrChanges
		}
		return nil
	}
	class := ExitCode(errs[0])
	for _, err := range errs {
		if ExitCode(err) != class {
			return Reported(errors.New("some targets failed"))
		}
	}
	return Reported(errs[0])
}
