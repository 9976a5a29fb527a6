package local

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
	"fettle.dev/fettle/internal/verb/pkg"
	"fettle.dev/fettle/internal/verb/verbs"
)

// observers is how many addresses are looked at side by side.
const observers = 4

func (o *observed) put(a addr.Addr, i image.Image, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err != nil {
		o.failed[a] = err
		return
	}
	o.images[a] = i
}

// observe reads every address of the steps. With verify it reads every byte and ignores
// the stat cache. The error is the context's.
func (x *planner) observe(ctx context.Context, steps step.List, verify bool, how executor.Guards) (*observed, error) {
	o := &observed{images: make(map[addr.Addr]image.Image, len(steps)), failed: map[addr.Addr]error{}}
	env := verb.Env{Host: x.host, Store: nil, Digests: x.trusted(verify), Names: x.names,
		Progress: func(host.Progress) {}, Note: func(string) {}}
	asker := newGuards(x.host, how)
	defer asker.close()
	env.Guard = asker.ask
	var packages []step.Step
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(observers)
	const chunk = 256
	var some []step.Step
	flush := func() {
		batch := some
		some = nil
		g.Go(func() error { return o.look(gctx, env, batch) })
	}
	for _, s := range steps {
		if s.Verb == step.Pkg {
			packages = append(packages, s)
			continue
		}
		if some = append(some, s); len(some) == chunk {
			flush()
		}
	}
	flush()
	g.Go(func() error { return o.lookPackages(gctx, env, packages) })
	err := g.Wait()
	return o, err
}

func (o *observed) look(ctx context.Context, env verb.Env, steps []step.Step) error {
	for _, s := range steps {
		v, ok := verbs.For(s.Verb)
		if !ok {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		img, err := v.Observe(ctx, env, s)
		o.put(s.Addr(), img, err)
	}
	return nil
}

func (o *observed) lookPackages(ctx context.Context, env verb.Env, steps []step.Step) error {
	if len(steps) == 0 {
		return nil
	}
	imgs, err := pkg.Pkg{}.ObserveAll(ctx, env, steps)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	for i, s := range steps {
		var img image.Image
		if err == nil {
			img = imgs[i]
		}
		o.put(s.Addr(), img, err)
	}
	return nil
}

// rules is plan.Rules over the verbs.
type rules struct{ verb.Names }

var errNoVerb = errors.New("cannot plan this step: this version of fettle does not support its verb")

func (r rules) Target(s step.Step, now image.Image) (image.Image, error) {
	v, ok := verbs.For(s.Verb)
	if !ok {
		return image.Image{}, errNoVerb
	}
	return v.Target(s, now, r.Names)
}

func (r rules) Irreversible(s step.Step, from, to image.Image) string {
	v, _ := verbs.For(s.Verb)
	if rv, ok := v.(verb.Reversible); ok {
		return rv.Irreversible(s, from, to)
	}
	return ""
}

// toLookAt returns every step whose address a plan needs: the desired steps, and the
// applied steps that are no longer desired.
func toLookAt(wanted step.List, entries []journal.Entry) step.List {
	seen := make(map[addr.Addr]bool, len(wanted))
	out := make(step.List, 0, len(wanted))
	for _, s := range wanted {
		if a := s.Addr(); !seen[a] {
			seen[a] = true
			out = append(out, s)
		}
	}
	for _, e := range entries {
		if seen[e.Addr] {
			continue
		}
		seen[e.Addr] = true
		if !e.Step.IsZero() {
			out = append(out, e.Step)
		}
	}
	return out
}

// Digest implements capture.Digests.
func (blind) Digest(string, host.Stat) (string, bool) { return "", false }
