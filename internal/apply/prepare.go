package apply

import (
	"fmt"
	"path"
	"strings"

	"fettle.dev/fettle/internal/capture"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/verbs"
)

// prepare captures the path of a change and computes its target. It returns nil if nothing needs to be
// done. made contains the directories that this batch creates at absent paths.
func (r *forward) prepare(i int, made map[string]bool) (*move.Move, error) {
	c, s := r.plan.Changes[i], r.machine.Step(i)
	v, ok := verbs.For(s.Verb)
	if !ok {
		return nil, fmt.Errorf("cannot run %q: its verb does not change a path", s.Verb)
	}
	r.start(i)
	taken, err := r.take(c, s, made)
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
	r.effects[i].from, r.effects[i].to = now, to
	if now.Same(to) && sameTime(now, to) && c.WholeFile == nil &&
		!(c.Action == plan.Remove && to.Region() != nil && now.Region().Leaves(*to.Region())) {
		return nil, r.unchanged(i)
	}
	pt, err := v.(verb.Pather).PathTarget(r.ctx, r.env, s, taken, to)
	if err != nil {
		return nil, err
	}
	if to.Region() != nil && pt.Type == image.Regular {
		pt.MTime = to.Region().TimeOf(pt)
	}
	pt = r.edits.exactly(i, taken.File, pt)
	return r.moveTo(i, s, taken, pt)
}

// sameTime reports whether a restored path already has its old modification time. A path that a step
// computes has no required time.
func sameTime(now, to image.Image) bool {
	return to.File() == nil || to.File().MTime == 0 || to.File().MTime == now.File().MTime
}

func (r *forward) moveTo(i int, s step.Step, taken capture.Taken, to image.File) (*move.Move, error) {
	p := s.Path()
	if taken.File.Same(&to) && (to.MTime == 0 || to.MTime == taken.MTime) {
		return nil, r.unchanged(i)
	}
	m := &move.Move{Change: i, Path: p, From: taken, To: to, Temp: move.TempFor(p, r.header.Run, i, false)}
	if v := s.Get("validate"); r.validates(i) && strings.Contains(v, "%s") && s.Verb == step.Copy &&
		to.Type == image.Regular {
		m.Validate = func(temp string) error {
			r.current = i
			return r.validate(v, temp)
		}
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	return m, r.content(to.Digest)
}

// take stores the present content of the path of a step. A directory that this batch will create has
// no content yet; if it appears meanwhile, the rename fails.
func (r *forward) take(c plan.Change, s step.Step, made map[string]bool) (capture.Taken, error) {
	if made[path.Dir(s.Path())] {
		return capture.Taken{File: image.File{Type: image.Absent}}, nil
	}
	if takesWhole(c, s) {
		return capture.TakeTree(r.Host, r.Store, s.Path())
	}
	return capture.Take(r.Host, r.Store, s.Path())
}

// addressNow returns the present image of the address. For most verbs this is the image of the path.
func (r *forward) addressNow(v verb.Verb, s step.Step, taken capture.Taken) (image.Image, error) {
	if s.Verb == step.Edit {
		now, err := v.Observe(r.ctx, r.env, s)
		if err == nil {
			now.Region().EarlierVersions = []image.Version{{Digest: taken.Digest, MTime: taken.MTime}}
			r.edits.asBeforeEdits(s, now.Region())
		}
		return now, err
	}
	f := taken.File
	if s.Verb == step.Meta {
		f.Digest, f.Size = "", 0
	}
	return image.Of(&f), nil
}

// addressTarget returns the image that the address should have: the image in the plan for a restore,
// and otherwise the result of the step on the present image.
func (r *forward) addressTarget(v verb.Verb, c plan.Change, s step.Step, now image.Image) (image.Image, error) {
	if c.To != nil && (c.Action == plan.Remove || c.Action == plan.Purge || c.Captured && c.Action == plan.Restore) {
		return r.edits.unlessShared(s, *c.To), nil
	}
	if c.Action == plan.Restore && s.Verb != step.Meta && c.To != nil && c.To.File() != nil && c.To.File().MTime != 0 {
		// Only if the step asks for this image, which a plan from before the accounts existed could
		// not determine.
		if c.To.File().Tree != "" || r.stillAsksFor(v, s, c.To) {
			return *c.To, nil
		}
	}
	if s.Verb == step.Meta && c.Earlier != nil && now.File() != nil && c.Earlier.File() != nil &&
		now.File().Type == c.Earlier.File().Type {
		return plan.WithEarlierMetadata(now, *c.Earlier), nil
	}
	if r.stillAsksFor(v, s, c.Earlier) {
		return *c.Earlier, nil
	}
	if f := now.File(); f != nil && f.Type == image.Symlink && s.Verb == step.Mkdir && c.From != nil && now.Same(*c.From) {
		now = image.Of(&image.File{Type: image.Absent}) // a link of fettle, as the plan checked
	}
	if f := now.File(); f != nil && f.Type == image.Directory && s.Verb != step.Mkdir {
		names, err := r.Host.ReadDir(s.Path())
		if err != nil {
			return image.Image{}, err
		}
		g := *f
		g.Entries = names
		now = image.Of(&g)
	}
	to, err := v.Target(s, r.edits.forTarget(s, now), r.Names)
	return r.edits.inOldPlace(s, now, r.edits.asFoundFirst(s, to)), err
}
