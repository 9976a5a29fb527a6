package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"fettle.dev/fettle/internal/amount"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/ssh"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/fleet/fanout"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/lang/query"
)

// manyFlags are the flags of commands that work on many targets at once.
type manyFlags struct {
	parallel         int
	batch, maxFailed string
}

// perProcessor is how many targets at once a processor here keeps up with: for each it
// encrypts, compiles and compares.
const perProcessor = 25

// manyMark on a command means that it accepts a selection of targets.
const manyMark = "many"

func (f *manyFlags) flags(c *cobra.Command) {
	c.Annotations = map[string]string{manyMark: "yes"}
	numberVar(c.Flags(), &f.parallel, "parallel", 0, 0,
		"work on this `NUMBER` of targets at once (default: 50, or 25 for each CPU of this host if that is less)")
	amountVar(c, &f.batch, "batch", "finish this `NUMBER|PERCENT` of targets before others begin, such as 5 or 10%")
	amountVar(c, &f.maxFailed, "max-failed",
		"begin no further targets if more than this `NUMBER|PERCENT` failed, such as 0 or 10%")
}

func (f *manyFlags) options() (fanout.Options, error) {
	o := fanout.Options{Parallel: f.parallel}
	if f.parallel == 0 {
		o.Parallel = min(fanout.DefaultParallel, perProcessor*runtime.NumCPU())
	}
	var err error
	if f.batch != "" {
		if o.Batch, err = amount.Parse(f.batch); err != nil {
			return o, fmt.Errorf("cannot use --batch: %w", err)
		}
	}
	if f.maxFailed != "" {
		most, err := amount.Parse(f.maxFailed)
		if err != nil {
			return o, fmt.Errorf("cannot use --max-failed: %w", err)
		}
		o.MaxFailed = &most
	}
	return o, nil
}

// isMany tells whether the command line names a selection of targets.
func (f *targetFlags) isMany() bool { return len(f.words) > 0 && f.target == "" }

// targetSet is the targets that a command works on, each with a session of its own.
type targetSet struct {
	s       *session
	src     *source
	options fanout.Options
	names   []string
	members map[string]*member
	cache   host.FS // of the lists of all, nil for none
	uncache func() error
	keep    bool   // connections between two rounds
	changes bool   // the results of targets are recorded, for @failed
	acts    bool   // this round records something on targets
	quiet   bool   // rounds are not shown while they happen
	part    string // of the command that runs
	stopped string // the reason why a round began no further targets
	noted   map[string]bool
}

// member is one target of many. Its own output is discarded.
type member struct {
	*session
	entry query.Target
	work  any  // the result of a round for the next round
	here  bool // it is this machine
}

// outcome is the result on one target.
type outcome struct {
	status fanout.Status
	line   string // in a few words, for one line
	body   string // text for users; targets with the same text are shown once
	doc    any
	part   string // of a command
	rows   []row  // of its JSON output; nil if the output is text
	err    error
	notes  []string // of its state directory: lost or damaged parts that were rebuilt
	said   bool     // body is output of the target: its own name in it is not replaced by names of other targets
}

// targetSet finds the targets that -t selects. The caller closes it.
func (s *session) targetSet(ctx context.Context, f manyFlags) (*targetSet, error) {
	src, err := s.openChosen(ctx)
	if err != nil {
		return nil, err
	}
	chosen, err := s.choose(ctx, src)
	if err != nil {
		src.close()
		return nil, err
	}
	return s.targetSetOf(src, f, chosen)
}

// targetSetOf is these targets of an open repository, which it closes.
func (s *session) targetSetOf(src *source, f manyFlags, chosen []query.Target) (*targetSet, error) {
	cr := &targetSet{s: s, src: src, members: map[string]*member{}, noted: map[string]bool{}}
	o, err := f.options()
	if err != nil {
		cr.close()
		return nil, err
	}
	cr.options = o
	all, err := s.targets(src)
	if err != nil {
		cr.close()
		return nil, err
	}
	cr.openCache(len(chosen))
	for _, t := range chosen {
		cr.names = append(cr.names, t.Name)
		// The only target of a repository is this machine, as without -t.
		here := s.connectOpts.via.value != viaHub && (isThisHost(s.printer, t.Name) || len(all) == 1 && t.SSH == nil &&
			!t.Enrolled)
		cr.members[t.Name] = &member{session: s.apart(t.Name), entry: t, here: here}
		cr.members[t.Name].cache = cr.cache
	}
	cr.keep = len(cr.names) <= o.Parallel
	return cr, nil
}

// apart is a session for one target of many: it has what the command line says and
// no terminal.
func (s *session) apart(target string) *session {
	app := *s.app
	app.Stdin, app.Stdout, app.Stderr = strings.NewReader(""), discard{}, discard{}
	app.Terminal, app.Beside = Terminal{}, nil
	if s.app.Language.Parallel != nil {
		app.Language.Queries = s.app.Language.Parallel
	}
	sub, out := *s, *s.printer
	out.app, out.json = &app, false
	sub.printer, sub.target, sub.words, sub.lines, sub.remote = &out, target, nil, nil, nil
	return &sub
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (cr *targetSet) close() {
	for _, m := range cr.members {
		m.leave()
	}
	if cr.uncache != nil {
		_ = cr.uncache()
	}
	cr.src.close()
}

func (m *member) leave() {
	m.closeRemote()
	m.remote = nil
}

// round does something on targets, and shows it while it happens. report has every
// outcome printed as a document line where --json asks for it.
func (cr *targetSet) round(ctx context.Context, names []string, doing string, report bool,
	one func(context.Context, *member, executor.Executor) outcome) map[string]outcome {
	out := make(map[string]outcome, len(names))
	done := make(chan struct {
		name string
		o    outcome
	}, len(names))
	work := func(ctx context.Context, name string) fanout.Outcome {
		o := cr.on(ctx, cr.members[name], one)
		o.part = cr.part
		done <- struct {
			name string
			o    outcome
		}{name, o}
		return fanout.Outcome{Status: o.status, Why: o.line}
	}
	board := cr.s.board(doing, len(names), cr.quiet)
	interrupts, release := cr.s.interrupts()
	defer release()
	observe := func(e fanout.Event) {
		for len(done) > 0 {
			d := <-done
			out[d.name] = d.o
		}
		if e.What == fanout.Ended {
			o, ok := out[e.Target]
			if !ok {
				o = outcome{status: e.Outcome.Status, line: e.Outcome.Why, part: cr.part}
				out[e.Target] = o
			}
			if report {
				targetLine(cr.s.printer, e.Target, o)
			}
		}
		if e.What == fanout.Stopped || e.What == fanout.Cancelled {
			cr.stopped = e.Why
		}
		board.Show(e)
	}
	fanout.Run(ctx, names, cr.options, work, interrupts, observe)
	board.Close()
	cr.tellNotes(names, out)
	return out
}

// tellNotes tells each note of a target once, with its name: other targets have others.
func (cr *targetSet) tellNotes(names []string, all map[string]outcome) {
	for _, name := range names {
		for _, n := range all[name].notes {
			if text := name + ": " + n; !cr.noted[text] {
				cr.noted[text] = true
				cr.s.errStyle().Warning(cr.s.app.Stderr, text)
			}
		}
	}
}

// on works on one target: it is reached, and left again if there are too many to
// stay.
func (cr *targetSet) on(ctx context.Context, m *member,
	one func(context.Context, *member, executor.Executor) outcome) outcome {
	x, done, err := m.connectMember(ctx, cr.acts)
	if err != nil {
		return failed(err)
	}
	defer func() {
		_ = done()
		if !cr.keep {
			m.leave()
		}
	}()
	return one(ctx, m, m.patient(x))
}

// connectMember connects to the machine of a target. On this machine, only a command that acts creates
// a state directory.
func (m *member) connectMember(ctx context.Context, acts bool) (executor.Executor, func() error, error) {
	nothing := func() error { return nil }
	if m.remote != nil {
		return m.remote, nothing, nil
	}
	if m.here {
		mach, err := m.machine()
		if err != nil {
			return nil, nil, err
		}
		mach.ReadOnly = !acts && !fileExists(mach.State)
		return m.app.OpenExecutor(ctx, mach)
	}
	w, err := m.wayTo(m.entry, false)
	if err != nil {
		return nil, nil, &unreachableTargets{err}
	}
	x, err := connect(ctx, m.session, w, true)
	if err != nil {
		return nil, nil, err
	}
	m.remote, m.at = x, w
	return x, nothing, nil
}

// unreachableTargets marks the error of a target without a connection.
type unreachableTargets struct{ error }

func (u *unreachableTargets) Unwrap() error { return u.error }

// failed is the outcome of an error.
func failed(err error) outcome {
	o := outcome{status: fanout.Failed, err: err, line: firstOf(err.Error())}
	var far *ssh.Error
	var near *unreachableTargets
	if errors.As(err, &far) || errors.As(err, &near) {
		o.status = fanout.Unreachable
	}
	if errors.Is(err, wire.ErrLost) {
		o.status = fanout.Unreachable
	}
	o.body = "error: " + err.Error() + "\n"
	if far != nil {
		o.line = far.Text
		o.body = "error: cannot be reached: " + far.Text + "\n"
	}
	if hint := hintOf(o.err); hint != "" {
		o.body += "hint: " + strings.ReplaceAll(hint, "\n", "\n      ") + "\n"
	}
	return o
}

func firstOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// wantedFor compiles what a member should be, from a repository that is open.
func (cr *targetSet) wantedFor(ctx context.Context, m *member) (executor.Request, error) {
	if cr.src.none != nil {
		return executor.Request{}, cr.src.none
	}
	in, err := m.input(ctx, cr.src.tree, m.target)
	if err != nil {
		return executor.Request{}, err
	}
	in.NeedSecrets = true
	return m.listOf(cr.src, in)
}

// exitOf is the error that many outcomes come to: none, changes, or the one class of
// all that failed.
func exitOf(all map[string]outcome) error {
	var errs []error
	changes := false
	for _, name := range sortedNames(all) {
		o := all[name]
		switch {
		case errors.Is(o.err, errChanges):
			changes = true
		case o.err != nil:
			errs = append(errs, o.err)
		case o.status == fanout.Skipped:
			errs = append(errs, errors.New(o.line))
		}
	}
	if len(errs) == 0 {
		if changes {
			return errChanges
		}
		return nil
	}
	class := ExitCode(errs[0])
	for _, err := range errs {
		if ExitCode(err) != class {
			return reported(errors.New("some targets failed"))
		}
	}
	return reported(errs[0])
}

// stateHome is where this workstation remembers what it did on others.
func stateHome(s *printer) string {
	if dir := s.app.Env("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "fettle")
	}
	if home := s.app.Env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "fettle")
	}
	return ""
}
