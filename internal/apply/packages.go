package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// SettlePackages finishes what dpkg was left with by the last run, when
// packages failed in that: they go on to where that run was taking them.
// Otherwise it does nothing: what people do with dpkg is theirs.
func (r *Runner) SettlePackages(ctx context.Context) error {
	last, err := r.Store.State()
	if err != nil || last.Run == 0 {
		return err
	}
	recs, err := r.Store.Read(last.Run)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(recs, func(rec journal.Record) bool { return rec.Addr.Kind() == addr.KindPkg && rec.Error != "" }) {
		return nil
	}
	if recs[0].Header == nil {
		return nil
	}
	job, err := r.jobOf(*recs[0].Header)
	if err != nil {
		return err
	}
	x := r.newRun(ctx, job)
	x.began = recs[0].At
	if err := x.configurePackages(); err != nil {
		return err
	}
	on, back := x.underWay(recs)
	if x.halves == "" { // no more than configuration can be left then
		on, back = slices.DeleteFunc(on, func(m *verb.GroupMove) bool { return !rests(m.From, m.To) || m.Stays }), nil
	}
	for _, moves := range [][]*verb.GroupMove{on, back} { // together with others they may not go on
		if slices.ContainsFunc(moves, func(m *verb.GroupMove) bool { return !m.Stays }) && x.besides(moves, recs) == nil && (pkg.Pkg{}).MoveAll(x.ctx, x.env, moves) == nil {
			break
		}
	}
	if err := x.repairPackages(); err != nil {
		return x.withCommand(err, on)
	}
	x.sweepPackages()
	return nil
}

// claimed returns the packages that the list of the run requires. If the run is undone, it
// returns the packages that the list before it required.
func (r *run) claimed() map[string]bool {
	if !r.m.Back {
		return pkg.Wanted(r.wanted)
	}
	var before step.List
	for _, e := range r.base.Entries {
		if e.Addr.Kind() == addr.KindPkg {
			l, _ := step.Parse("", []byte(e.Step))
			before = append(before, l...)
		}
	}
	return pkg.Wanted(before)
}

// underWay are the moves of packages that a run began and failed to make, as its
// last records have them: on to where it was taking them, and back to where they
// were. What had not begun stays, for that run does not manage it; what is at
// neither end by now, somebody else has moved.
func (r *run) underWay(recs []journal.Record) (on, back []*verb.GroupMove) {
	last := map[int]journal.Record{}
	for _, rec := range recs {
		if rec.Kind == journal.Intent && rec.Addr.Kind() == addr.KindPkg && rec.From != nil && rec.To != nil && rec.Change < len(r.fx) {
			last[rec.Change] = rec
		}
	}
	for _, i := range slices.Sorted(maps.Keys(last)) {
		from, to, s := *last[i].From, *last[i].To, r.m.Step(i)
		was := from
		if last[i].Back {
			was = to
		}
		now, err := pkg.Pkg{}.Observe(r.ctx, r.env, s)
		if err != nil || from.Package == nil || to.Package == nil {
			continue
		}
		if now.Same(was) && !r.remains(now, was) {
			there := r.standing(i)
			on, back = append(on, there...), append(back, there...)
			continue
		}
		if v := now.Package.Version; now.Package.Unfinished() || v == from.Package.Version || v == to.Package.Version {
			on = append(on, &verb.GroupMove{Step: s, From: now, To: to, Undo: true, Hold: r.plan.Changes[i].OwnsHold()})
			back = append(back, &verb.GroupMove{Step: s, From: now, To: from, Undo: true, Hold: r.plan.Changes[i].OwnsHold()})
		}
	}
	return on, back
}

// besides is an error when moves would change packages that neither they nor the
// records know of.
func (r *run) besides(moves []*verb.GroupMove, recs []journal.Record) error {
	also, _, err := pkg.Pkg{}.Foresee(r.ctx, r.env, moves)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	know := func(i *image.Image) {
		if i != nil && i.Package != nil {
			for name := range i.Package.Also {
				known[name] = true
			}
		}
	}
	for _, m := range moves {
		know(&m.To)
	}
	for _, rec := range recs {
		know(rec.From)
	}
	for _, name := range slices.Sorted(maps.Keys(also)) {
		if !known[name] {
			return fmt.Errorf("it would change %s besides", name)
		}
	}
	return nil
}

// waiter is what packages may be able to do: wait until nobody works on them.
type waiter interface {
	Wait(ctx context.Context, progress func(host.Progress)) error
}

// configurer is what packages may be able to do: configure what is unpacked,
// and nothing else.
type configurer interface {
	Configure(ctx context.Context, progress func(host.Progress)) error
}

// configurePackages configures what an interrupted dpkg left, and notes in
// r.halves what is left after that; what it noted before is not tried again.
// Packages that need one another at one version cannot be configured while they
// are half at one and half at another, and what finishes them then is the way
// on, or back, in one transaction.
func (r *run) configurePackages() error {
	p, err := r.Host.Packages()
	if err != nil {
		return err
	}
	state, err := p.Audit(r.ctx)
	if err == nil && state != "" && state != r.halves {
		if state, err = r.configure(p, state); err == nil && state != "" {
			r.note("dpkg cannot configure this by itself: " + state)
		}
	}
	r.halves = state
	return err
}

func (r *run) configure(p host.Packages, state string) (left string, err error) {
	if w, ok := p.(waiter); ok { // somebody may be in the middle of it
		if err := w.Wait(r.ctx, r.env.Progress); err != nil {
			return state, err
		}
		if state, err = p.Audit(r.ctx); err != nil || state == "" {
			return state, err
		}
	}
	r.torn = true
	r.note("dpkg was left half-configured, finishing that first: " + state)
	c, ok := p.(configurer)
	if !ok {
		return state, nil
	}
	failed := c.Configure(r.ctx, r.env.Progress)
	r.notePackages(p)
	if r.ctx.Err() != nil {
		return state, failed
	}
	return p.Audit(r.ctx) // which says what came of it
}

func (r *run) notePackages(p host.Packages) {
	for _, text := range pkg.Notes(p) {
		r.note(text)
	}
}

// repairPackages does what can be done without knowing where packages are to go.
func (r *run) repairPackages() error {
	if r.halves == "" {
		return nil
	}
	p, err := r.Host.Packages()
	if err != nil {
		return err
	}
	if state, err := p.Audit(r.ctx); err != nil || state == "" {
		r.halves = state
		return err
	}
	err = p.Repair(r.ctx, r.env.Progress)
	r.notePackages(p)
	if err != nil {
		return fmt.Errorf("cannot finish what an interrupted dpkg left; look at dpkg --audit: %w", err)
	}
	r.halves = ""
	return nil
}

// sweeper is what packages may be able to do: remove what an interrupted
// unpacking left beside the files of packages, since a time in ns since 1970.
type sweeper interface {
	Sweep(ctx context.Context, names []string, since int64) error
}

// sweepPackages removes what dpkg forgets when it goes another way than the one
// on which it was cut short.
func (r *run) sweepPackages() {
	p, err := r.Host.Packages()
	s, ok := p.(sweeper)
	if err != nil || !ok || !r.torn || r.halves != "" {
		return
	}
	if recs, err := r.Store.Read(r.base.Run); r.began == 0 && err == nil && len(recs) > 0 {
		r.began = recs[0].At // that run may be the one that left it
	}
	if r.began == 0 {
		return
	}
	var names []string
	for i, c := range r.plan.Changes {
		if c.Addr.Kind() == addr.KindPkg {
			names = append(names, r.m.Step(i).Args[0])
			if from := r.fx[i].from.Package; from != nil {
				names = slices.AppendSeq(names, maps.Keys(from.Also))
			}
		}
	}
	slices.Sort(names)
	if err := s.Sweep(r.ctx, slices.Compact(names), r.began); err != nil {
		r.note(err.Error())
	}
}

// moveAll runs a transaction of packages. What dpkg was left with goes on to the
// goal in it. Where that is not enough, it is repaired as can be and the
// transaction tried once more.
func (r *run) moveAll(g verb.Group, moves []*verb.GroupMove) error {
	err := g.MoveAll(r.ctx, r.env, moves)
	if r.halves == "" {
		return err
	}
	if rerr := r.repairPackages(); rerr != nil {
		r.note(rerr.Error())
	}
	if err == nil || r.ctx.Err() != nil {
		return err
	}
	also := moves[0].Also
	err = g.MoveAll(r.ctx, r.env, moves)
	moves[0].Also = earlier(also, moves[0].Also)
	return err
}

// earlier is what came along with one attempt and with the next: what the first
// found is what was there before.
func earlier(first, next map[string]string) map[string]string {
	if len(first) == 0 {
		return next
	}
	out := maps.Clone(first)
	for name, was := range next {
		if _, told := out[name]; !told {
			out[name] = was
		}
	}
	return out
}

// curesAny tells whether the transaction is about something that dpkg cannot
// finish, or a crashed attempt at it left such a thing.
func (r *run) curesAny(todo []int, moves []*verb.GroupMove) bool {
	return slices.ContainsFunc(moves, cures) || slices.ContainsFunc(todo, func(i int) bool { return r.brought(r.fx[i].found) })
}

// withCommand adds to an error what a person types to bring packages where they
// were to go.
func (r *run) withCommand(err error, moves []*verb.GroupMove) error {
	if text := (pkg.Pkg{}).Command(context.WithoutCancel(r.ctx), r.env, moves); text != "" {
		return fmt.Errorf("%w; by hand it is: %s", err, text)
	}
	return err
}

// withAudit adds to the error of a transaction in which state dpkg was left.
func (r *run) withAudit(err error) error {
	p, perr := r.Host.Packages()
	if perr != nil {
		return err
	}
	state, perr := p.Audit(context.WithoutCancel(r.ctx))
	if perr != nil || state == "" {
		return err
	}
	return fmt.Errorf("%w; dpkg is left half-configured: %s; fettle recover, and each run that changes packages, finishes that first", err, state)
}

// cures tells whether a move is about a package that dpkg cannot finish: what
// comes with it may be what is missing.
func cures(m *verb.GroupMove) bool {
	from, to := m.From.Package, m.To.Package
	return from != nil && to != nil && from.Unfinished()
}

// blamedFirst puts those first that apt or dpkg blame for the failure of a
// transaction, so that the report leads to their lines, and tells how many they
// are.
func blamedFirst(bad []int, moves []*verb.GroupMove, err error) int {
	names := namedBy(err)
	n := 0
	for at, k := range bad {
		if slices.Contains(names, moves[k].Step.Args[0]) {
			copy(bad[n+1:at+1], bad[n:at])
			bad[n] = k
			n++
		}
	}
	return n
}

// namedBy are the packages that an error names, or else all of its words.
func namedBy(err error) []string {
	var named *host.PackagesError
	if errors.As(err, &named) && len(named.Names) > 0 {
		return named.Names
	}
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the names of the whole transaction
	}
	var out []string
	for _, w := range strings.Fields(err.Error()) {
		out = append(out, strings.Trim(w, "'\"‘’,;:."))
	}
	return out
}

// oneOf says of a failure that apt and dpkg blame on no package of the
// transaction which ones it may be about.
func oneOf(bad []int, moves []*verb.GroupMove, err error) error {
	if len(bad) < 2 {
		return err
	}
	return fmt.Errorf("one of %s: %w", nameAll(bad, moves), err)
}

func nameAll(of []int, moves []*verb.GroupMove) string {
	names := make([]string, len(of))
	for n, k := range of {
		names[n] = moves[k].Step.Args[0]
	}
	return strings.Join(names, ", ")
}

// reached tells whether a package is in sync although its transaction failed.
func (r *run) reached(v verb.Verb, m *verb.GroupMove) bool {
	now, err := v.Observe(r.ctx, r.env, m.Step)
	if err != nil || now.Package == nil || m.To.Package == nil || now.Package.Unfinished() || now.Package.Leaving() && m.To.Package.Version != "" {
		return false
	}
	if rests(now, m.To) {
		return false
	}
	have, want := now.Package.Version, m.To.Package.Version
	return have == want || want == pkg.Candidate && have != ""
}
