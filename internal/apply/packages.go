package apply

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
)

// SettlePackages finishes what dpkg was left with by the last run, when
// packages failed in that. Otherwise it does nothing: what people do with dpkg
// is theirs.
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
	progress := func(text string) { r.Show(Event{Kind: "wait", Text: text}) }
	return finishPackages(ctx, r.Host, progress, func(text string) { r.Show(Event{Kind: "note", Text: text}) })
}

// settlePackages finishes what an interrupted dpkg left, so that apt will work.
func (r *run) settlePackages() error {
	return finishPackages(r.ctx, r.Host, r.env.Progress, r.note)
}

// waiter is what packages may be able to do: wait until nobody works on them.
type waiter interface {
	Wait(ctx context.Context, progress func(string)) error
}

func finishPackages(ctx context.Context, h host.Host, progress, note func(string)) error {
	p, err := h.Packages()
	if err != nil {
		return err
	}
	state, err := p.Audit(ctx)
	if err != nil || state == "" {
		return err
	}
	if w, ok := p.(waiter); ok { // somebody may be in the middle of it
		if err := w.Wait(ctx, progress); err != nil {
			return err
		}
		if state, err = p.Audit(ctx); err != nil || state == "" {
			return err
		}
	}
	note("dpkg was left half-configured, finishing that first: " + state)
	err = p.Repair(ctx, progress)
	for _, text := range pkg.Notes(p) {
		note(text)
	}
	if err != nil {
		return fmt.Errorf("cannot finish what an interrupted dpkg left; look at dpkg --audit: %w", err)
	}
	return nil
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

// blamedFirst puts first the package that the error is about, so that the report
// leads to its line.
func blamedFirst(bad []int, moves []*verb.GroupMove, err error) {
	if inner := errors.Unwrap(err); inner != nil {
		err = inner // without the names of the whole transaction
	}
	words := strings.Fields(err.Error())
	for n, k := range bad {
		name := moves[k].Step.Args[0]
		if slices.ContainsFunc(words, func(w string) bool { return strings.Trim(w, "'\"‘’,;:.") == name }) {
			bad[0], bad[n] = bad[n], bad[0]
			return
		}
	}
}

// reached tells whether a package is as wanted although its transaction failed.
func (r *run) reached(v verb.Verb, m *verb.GroupMove) bool {
	now, err := v.Observe(r.ctx, r.env, m.Step)
	if err != nil || now.Package == nil || m.To.Package == nil || now.Package.Unfinished() {
		return false
	}
	have, want := now.Package.Version, m.To.Package.Version
	return have == want || want == pkg.Candidate && have != ""
}
