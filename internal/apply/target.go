package apply

import (
	"errors"
	"fmt"
	"io/fs"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// stillAsksFor reports whether a step asks for exactly an earlier image.
func (r *run) stillAsksFor(v verb.Verb, s step.Step, then *image.Image) bool {
	if then == nil {
		return false
	}
	t, err := v.Target(s, *then, r.Names)
	return err == nil && t.Same(*then)
}

// content ensures that the store has the content to write. It distinguishes a failed lookup from
// missing content.
func (r *run) content(digest string) error {
	if digest == "" || r.Store.Has(digest) {
		return nil
	}
	f, _, err := r.Store.Open(digest)
	switch {
	case err == nil:
		return f.Close()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return fmt.Errorf(
		"cannot find the content %s: it is neither in the repository nor in the state directory of this host", digest)
}

// images returns the present image of an address and the image after the change.
func (r *run) images(v verb.Verb, i int) (from, to image.Image, err error) {
	c, s := r.plan.Changes[i], r.machine.Step(i)
	if from, err = v.Observe(r.ctx, r.env, s); err != nil {
		return from, to, err
	}
	if c.To != nil && c.Action == plan.Remove && from.Exec() != nil {
		from = *c.From
	}
	to, err = r.leadsTo(v, i, from)
	return from, to, err
}

// leadsTo returns the image that change i produces from the found image.
func (r *run) leadsTo(v verb.Verb, i int, from image.Image) (image.Image, error) {
	c := r.plan.Changes[i]
	if c.To != nil && (c.Action == plan.Remove || c.Action == plan.Restore && c.To.Exact()) {
		return *c.To, nil
	}
	if r.stillAsksFor(v, r.machine.Step(i), c.Earlier) && c.Earlier.Exact() {
		return *c.Earlier, nil
	}
	return v.Target(r.machine.Step(i), from, r.Names)
}
