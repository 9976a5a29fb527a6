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

// SettlePackages finishes the changes of packages that failed in the last run, toward the goal of that
// run. If no packages failed in it, SettlePackages does nothing: fettle does not finish the
// interrupted changes of other users.
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
	if x.halves == "" { // only configuration can be left then
		on, back = slices.DeleteFunc(on, func(m *verb.GroupMove) bool { return !rests(m.From, m.To) || m.Stays }), nil
	}
	for _, moves := range [][]*verb.GroupMove{on, back} { // together with other packages they may not succeed
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

// underWay returns the moves of packages that a run began and did not complete, according to its last
// records: forward to its goal, and back to the state before. Packages that had not begun are omitted,
// because that run does not manage them. So are packages in neither state, because another program has
// changed them since.
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

// besides checks the packages that moves would change. It returns an error if one of them is in
// neither the moves nor the records.
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
			return fmt.Errorf("it would also change %s", name)
		}
	}
	return nil
}

// waiter is an optional ability of packages: wait until no other process changes them.
type waiter interface {
	Wait(ctx context.Context, progress func(host.Progress)) error
}

// configurer is an optional ability of packages: only configure packages that are unpacked.
type configurer interface {
	Configure(ctx context.Context, progress func(host.Progress)) error
}

// configurePackages configures the packages that an interrupted dpkg left. It stores the unfinished
// rest in r.halves, and does not try these packages again. Packages that require each other at the
// same version cannot be configured while they have different versions. Only one transaction that
// completes or undoes the change finishes them.
func (r *run) configurePackages() error {
	p, err := r.Host.Packages()
	if err != nil {
		return err
	}
	state, err := p.Audit(r.ctx)
	if err == nil && state != "" && state != r.halves {
		if state, err = r.configure(p, state); err == nil && state != "" {
			r.note("dpkg could not finish its configuration: " + state)
		}
	}
	r.halves = state
	return err
}

func (r *run) configure(p host.Packages, state string) (left string, err error) {
	if w, ok := p.(waiter); ok { // another process may be changing packages
		if err := w.Wait(r.ctx, r.env.Progress); err != nil {
			return state, err
		}
		if state, err = p.Audit(r.ctx); err != nil || state == "" {
			return state, err
		}
	}
	r.torn = true
	r.note("an earlier change of packages was interrupted and is finished first: " + state)
	c, ok := p.(configurer)
	if !ok {
		return state, nil
	}
	failed := c.Configure(r.ctx, r.env.Progress)
	r.notePackages(p)
	if r.ctx.Err() != nil {
		return state, failed
	}
	return p.Audit(r.ctx) // which reports the result
}

func (r *run) notePackages(p host.Packages) {
	for _, text := range pkg.Notes(p) {
		r.note(text)
	}
}

// repairPackages makes the repairs that do not depend on the goal of the packages.
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
		return fmt.Errorf("cannot finish the interrupted change of packages; see dpkg --audit: %w", err)
	}
	r.halves = ""
	return nil
}

// sweeper is an optional ability of packages: remove the temporary files of an interrupted unpacking
// that are newer than a time, in ns since 1970.
type sweeper interface {
	Sweep(ctx context.Context, names []string, since int64) error
}

// sweepPackages removes temporary files that dpkg does not remove if an interrupted change is
// continued in another way.
func (r *run) sweepPackages() {
	p, err := r.Host.Packages()
	s, ok := p.(sweeper)
	if err != nil || !ok || !r.torn || r.halves != "" {
		return
	}
	if recs, err := r.Store.Read(r.base.Run); r.began == 0 && err == nil && len(recs) > 0 {
		r.began = recs[0].At // that run may have created them
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

// moveAll runs a transaction of packages. Unfinished packages of dpkg are finished in the same
// transaction. If the transaction fails, dpkg is repaired as far as possible, and the transaction is
// tried once more.
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

// earlier merges the packages that two attempts added. The state that the first attempt found has
// priority, because it is the state before the change.
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

// curesAny reports whether the transaction includes a package that dpkg cannot finish, or that an
// interrupted attempt left unfinished.
func (r *run) curesAny(todo []int, moves []*verb.GroupMove) bool {
	return slices.ContainsFunc(moves, cures) || slices.ContainsFunc(todo, func(i int) bool { return r.brought(r.fx[i].found) })
}

// withCommand adds to an error the command with which a user can make the change by hand.
func (r *run) withCommand(err error, moves []*verb.GroupMove) error {
	if text := (pkg.Pkg{}).Command(context.WithoutCancel(r.ctx), r.env, moves); text != "" {
		return fmt.Errorf("%w; to do it by hand: %s", err, text)
	}
	return err
}

// withAudit adds the unfinished packages of dpkg to the error of a transaction.
func (r *run) withAudit(err error) error {
	p, perr := r.Host.Packages()
	if perr != nil {
		return err
	}
	state, perr := p.Audit(context.WithoutCancel(r.ctx))
	if perr != nil || state == "" {
		return err
	}
	return fmt.Errorf("%w; dpkg has unfinished packages: %s; to finish them: fettle recover, or the next run that changes packages", err, state)
}

// cures reports whether a move concerns a package that dpkg cannot finish: the transaction may install
// a missing dependency.
func cures(m *verb.GroupMove) bool {
	from, to := m.From.Package, m.To.Package
	return from != nil && to != nil && from.Unfinished()
}

// blamedFirst moves the packages that apt or dpkg name in an error to the front, so that the report
// shows their lines first. It returns their number.
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

// namedBy returns the packages that an error names, or otherwise all of its words.
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

// oneOf adds the possible packages to an error in which apt and dpkg name no package of the
// transaction.
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

// reached reports whether a package is in sync although its transaction failed.
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
