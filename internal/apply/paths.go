package apply

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/exec"
	"fettle.dev/fettle/internal/verb/verbs"
)

// paths runs a batch of path changes. The first change that cannot be made ends
// it; those before it are made.
func (r *run) paths(indexes []int) error {
	var b move.Batch
	for k, i := range indexes {
		m, err := r.prepare(i)
		if err != nil {
			return r.partly(indexes[:k], i, err)
		}
		if m != nil {
			b.Moves = append(b.Moves, m)
		}
	}
	at, err := r.commit(&b, false)
	if cut(err) {
		return err
	}
	if err != nil {
		return r.partly(before(indexes, at), at, err)
	}
	return r.validateInPlace(indexes)
}

// before is the part of indexes that comes before change i.
func before(indexes []int, i int) []int {
	for k, x := range indexes {
		if x == i {
			return indexes[:k]
		}
	}
	return nil
}

// partly makes the changes before the one that failed, then fails that one.
func (r *run) partly(first []int, failed int, err error) error {
	var todo []int
	for _, i := range first {
		if r.m.Status(i) == Do {
			todo = append(todo, i)
		}
	}
	if len(todo) > 0 {
		if err2 := r.paths(todo); err2 != nil {
			return err2
		}
	}
	return r.fail(failed, StepFailed, err)
}

// prepare captures what is at a change's path and works out where it goes. It
// gives nil when nothing has to be done.
func (r *run) prepare(i int) (*move.Move, error) {
	c, s := r.plan.Changes[i], r.m.Step(i)
	v, ok := verbs.For(s.Verb)
	if !ok {
		return nil, fmt.Errorf("cannot run %q: its verb owns no path", s.Verb)
	}
	r.start(i)
	taken, err := r.take(c, s)
	if err != nil {
		return nil, err
	}
	now, err := r.addressNow(v, s, taken)
	if err != nil {
		return nil, err
	}
	to, err := r.addressTarget(v, c, s, now)
	if err != nil {
		return nil, err
	}
	r.fx[i].from, r.fx[i].to = now, to
	if now.Same(to) && sameTime(now, to) {
		return nil, r.unchanged(i)
	}
	pt, err := v.(verb.Pather).PathTarget(r.ctx, r.env, s, taken, to)
	if err != nil {
		return nil, err
	}
	return r.moveTo(i, s, taken, pt)
}

// sameTime tells whether a path that is put back has its old time already. What
// a step makes of what is there asks for no time.
func sameTime(now, to image.Image) bool {
	return to.File == nil || to.File.MTime == 0 || to.File.MTime == now.File.MTime
}

func (r *run) moveTo(i int, s step.Step, taken capture.Taken, to image.File) (*move.Move, error) {
	p := s.Path()
	if taken.File.Same(to) && (to.MTime == 0 || to.MTime == taken.MTime) {
		return nil, r.unchanged(i)
	}
	m := &move.Move{Change: i, Path: p, From: taken, To: to, Temp: move.TempFor(p, r.header.Run, i, false)}
	if v := s.Get("validate"); r.validates(i) && strings.Contains(v, "%s") && s.Verb == step.Copy && to.Type == image.Regular {
		m.Validate = func(temp string) error {
			return r.validate(v, temp)
		}
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, r.content(to.Digest)
}

func (r *run) take(c plan.Change, s step.Step) (capture.Taken, error) {
	if s.Verb == step.Rm || c.Action == plan.Purge || c.Action == plan.Restore && (s.Verb == step.Copy || s.Verb == step.Link) {
		return capture.TakeTree(r.Host, r.Store, s.Path())
	}
	return capture.Take(r.Host, r.Store, s.Path())
}

// addressNow is the address's image. For most verbs it is the path's own.
func (r *run) addressNow(v verb.Verb, s step.Step, taken capture.Taken) (image.Image, error) {
	if s.Verb == step.Edit {
		now, err := v.Observe(r.ctx, r.env, s)
		if err == nil {
			r.asBeforeEdits(s, now.Region)
		}
		return now, err
	}
	f := taken.File
	if s.Verb == step.Meta {
		f.Digest, f.Size = "", 0
	}
	return image.Image{File: &f}, nil
}

// addressTarget is the image that the address should have: what the plan says
// where it puts something back, else what the step makes of what is there.
func (r *run) addressTarget(v verb.Verb, c plan.Change, s step.Step, now image.Image) (image.Image, error) {
	if c.To != nil && (c.Action == plan.Remove || c.Action == plan.Purge) {
		return r.unlessShared(s, *c.To), nil
	}
	if c.Action == plan.Restore && s.Verb != step.Meta && c.To != nil && c.To.File != nil && c.To.File.MTime != 0 {
		// Only if that is what the step asks for, which a plan made before the
		// accounts were there could not tell.
		if c.To.File.Tree != "" || r.stillAsksFor(v, s, c.To) {
			return *c.To, nil
		}
	}
	if c.Action == plan.Restore && c.To != nil && c.To.Region != nil && c.To.Region.Line > 0 {
		return *c.To, nil
	}
	if s.Verb == step.Meta && c.Then != nil {
		return v.Target(s, plan.Redressed(now, *c.Then), r.Names)
	}
	if r.stillAsksFor(v, s, c.Then) {
		return *c.Then, nil
	}
	if f := now.File; f != nil && f.Type == image.Symlink && s.Verb == step.Mkdir && c.From != nil && now.Same(*c.From) {
		now = image.Image{File: &image.File{Type: image.Absent}} // our own link: the plan checked that
	}
	if f := now.File; f != nil && f.Type == image.Directory && s.Verb != step.Mkdir {
		names, err := r.Host.ReadDir(s.Path())
		if err != nil {
			return image.Image{}, err
		}
		g := *f
		g.Entries = names
		now = image.Image{File: &g}
	}
	return v.Target(s, now, r.Names)
}

// stillAsksFor tells whether a step wants just what was there then.
func (r *run) stillAsksFor(v verb.Verb, s step.Step, then *image.Image) bool {
	if then == nil {
		return false
	}
	t, err := v.Target(s, *then, r.Names)
	return err == nil && t.Same(*then)
}

// content makes sure that the store has what is to be written.
func (r *run) content(digest string) error {
	if digest == "" || r.Store.Has(digest) {
		return nil
	}
	return fmt.Errorf("cannot find the content %s: it is neither in the repository nor kept on this host", digest)
}

// unchanged marks a change that turned out to have nothing to do.
func (r *run) unchanged(i int) error {
	r.m.Set(i, Done)
	r.event("done", i, "already as wanted")
	return nil
}

// commit runs the write protocol on a batch. On an error it says which change
// failed; moves that are visible by then are settled and recorded. An error for
// which cut is true leaves it to recovery to find out what is there.
func (r *run) commit(b *move.Batch, back bool) (failed int, err error) {
	if len(b.Moves) == 0 {
		return 0, nil
	}
	b.FS, b.Store = r.Host, r.Store
	r.batch++
	first := b.Moves[0].Change
	if err := r.writeAhead(b, back); err != nil {
		return first, cutShort(err)
	}
	if err := r.stage(b); err != nil {
		r.sweep(b.Parents()...)
		if derr := b.Discard(); derr != nil {
			return first, cutShort(errors.Join(err, derr))
		}
		return failedMove(b, err), err
	}
	if err := r.log(journal.Record{Kind: journal.Prepared, Batch: r.batch, Back: back}); err != nil {
		return first, cutShort(errors.Join(err, b.Discard()))
	}
	return r.reveal(b, back)
}

// reveal makes a prepared batch visible. When the renames cannot be made
// durable, nobody knows what a crash would leave: the run is cut short.
func (r *run) reveal(b *move.Batch, back bool) (failed int, err error) {
	first := b.Moves[0].Change
	showErr := b.Show()
	if err := b.Settle(); err != nil {
		return first, cutShort(errors.Join(showErr, err))
	}
	if err := r.outcome(b, back, showErr); err != nil {
		return first, cutShort(err)
	}
	if showErr != nil {
		r.sweep(b.Parents()...)
		return failedMove(b, showErr), r.hidden(b, back, showErr)
	}
	for _, temp := range b.Aside() {
		r.sweep(path.Dir(temp))
		if err := move.RemoveTemp(r.Host, temp); err != nil {
			r.left = append(r.left, temp)
		}
	}
	return 0, nil
}

// hidden ends a batch of which one move could not be shown: its temporaries go,
// and a move that is more than one operation is put back to where it began.
// On the way back the caller tries again instead.
func (r *run) hidden(b *move.Batch, back bool, showErr error) error {
	if err := b.Drop(); err != nil {
		return cutShort(errors.Join(showErr, err))
	}
	if back {
		return showErr
	}
	for _, m := range b.Moves {
		if m.Shown() || m.Atomic() || m.Change != failedMove(b, showErr) {
			continue
		}
		pm := pathMove{path: m.Path, from: m.From.File, to: m.To, inPlace: m.InPlace()}
		way, err := r.backMove(m.Change, pm)
		if err != nil || way == nil {
			return showErr // somebody else changed it, or nothing happened yet
		}
		if _, err := r.commit(&move.Batch{Moves: []*move.Move{way}}, true); err != nil {
			return cutShort(errors.Join(showErr, err))
		}
	}
	return showErr
}

// failedMove finds the change that an error of a batch is about: the first that
// is not visible.
func failedMove(b *move.Batch, err error) int {
	var me *move.Error
	if errors.As(err, &me) {
		return me.Change
	}
	return b.Moves[0].Change
}

func (r *run) writeAhead(b *move.Batch, back bool) error {
	recs := make([]journal.Record, 0, len(b.Moves))
	for _, m := range b.Moves {
		if !back && ownImage(r.plan.Changes[m.Change].Addr) {
			recs = append(recs, r.intent(m.Change, r.fx[m.Change].from, r.fx[m.Change].to))
		}
		from, to := image.Image{File: &m.From.File}, image.Image{File: &m.To}
		recs = append(recs, journal.Record{Kind: journal.Move, Change: m.Change, Addr: r.plan.Changes[m.Change].Addr,
			Batch: r.batch, Path: m.Path, Temp: m.Temp, InPlace: m.InPlace(), From: &from, To: &to, Back: back})
	}
	return r.log(recs...)
}

func (r *run) stage(b *move.Batch) error {
	if err := b.Stage(); err != nil {
		return err
	}
	if err := r.Store.SyncObjects(); err != nil {
		return err
	}
	return b.Barrier()
}

// outcome records what became visible, and which actions that notifies.
func (r *run) outcome(b *move.Batch, back bool, showErr error) error {
	var recs []journal.Record
	for _, m := range b.Moves {
		if !m.Shown() {
			continue
		}
		r.shown(m, back)
		for _, name := range m.Kept {
			recs = append(recs, r.keptNote(m.Path, name))
		}
		if !isPath(r.plan.Changes[m.Change].Addr) {
			continue // a home directory: its account is what counts
		}
		if !back {
			recs = append(recs, r.settled(m.Change)...)
		}
		if showErr != nil {
			recs = append(recs, journal.Record{Kind: journal.Result, Change: m.Change, Path: m.Path, Batch: r.batch, Back: back})
		}
	}
	if showErr == nil {
		recs = append(recs, journal.Record{Kind: journal.Done, Batch: r.batch, Back: back})
	}
	return r.log(recs...)
}

func (r *run) keptNote(dir, name string) journal.Record {
	text := fmt.Sprintf("%s stays: it holds %q, which is not ours", dir, name)
	r.note(text)
	return journal.Record{Kind: journal.Note, Text: text, Path: dir}
}

func (r *run) shown(m *move.Move, back bool) {
	i := m.Change
	if back {
		return
	}
	r.fx[i].moves = append(r.fx[i].moves, pathMove{path: m.Path, from: m.From.File, to: m.To, inPlace: m.InPlace()})
	if isUnitFile(m.Path) {
		r.reload = true
	}
	if isPath(r.plan.Changes[i].Addr) {
		r.changed(i)
	}
}

// isUnitFile tells whether systemd reads the path when it reloads.
func isUnitFile(p string) bool {
	for _, dir := range []string{"/etc/systemd/", "/run/systemd/", "/usr/lib/systemd/", "/lib/systemd/", "/usr/local/lib/systemd/"} {
		if strings.HasPrefix(p, dir) {
			return true
		}
	}
	return false
}

// validateInPlace runs the validation of files that must stand in their place
// for it. One that is not accepted is put back before anybody is told.
func (r *run) validateInPlace(indexes []int) error {
	for _, i := range indexes {
		s := r.m.Step(i)
		v := s.Get("validate")
		if v == "" || !r.validates(i) || strings.Contains(v, "%s") || s.Verb != step.Copy || !r.fx[i].changed {
			continue
		}
		err := r.validate(v, "")
		if err == nil {
			continue
		}
		if uerr := r.back([]int{i}); uerr != nil {
			return uerr
		}
		if r.m.Status(i) != Undone {
			return r.fail(i, StepFailed, err)
		}
		r.forget(i)
		return r.fail(i, StepFailed, fmt.Errorf("%w\nthe old content is back", err))
	}
	return nil
}

// validates tells whether a change writes what its step asks for: what is put
// back needs nobody's consent.
func (r *run) validates(i int) bool {
	a := r.plan.Changes[i].Action
	return a != plan.Remove && a != plan.Purge
}

// validate runs a validation; temp stands in for %s in its words.
func (r *run) validate(words, temp string) error {
	argv, err := step.SplitWords(words)
	if err != nil {
		return err
	}
	for k := range argv {
		argv[k] = strings.ReplaceAll(argv[k], "%s", temp)
	}
	// A validation that was begun ends, so that no half-validated file stays.
	if err := exec.Run(context.WithoutCancel(r.ctx), r.Host, host.Command{Argv: argv}); err != nil {
		return fmt.Errorf("the validation does not accept it: %w", err)
	}
	return nil
}

// ownImage tells whether an address has an image of its own besides that of the
// path it is in.
func ownImage(a addr.Addr) bool { return a.Kind() == addr.KindEdit || a.Kind() == addr.KindMeta }

// isPath tells whether a change is made by path moves.
func isPath(a addr.Addr) bool {
	switch a.Kind() {
	case addr.KindFile, addr.KindMeta, addr.KindEdit:
		return true
	}
	return false
}
