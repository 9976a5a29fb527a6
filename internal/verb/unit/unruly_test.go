package unit

import (
	"context"
	"errors"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// unruly is a service manager whose jobs are done and do not last, or that
// cannot be asked any more.
type unruly struct {
	*mem.Host
	then   *image.Unit // the unit after its job
	gone   error       // of the manager
	asking error       // of a look after the job
	lasts  error
	jobs   int
}

func (u *unruly) Units() (host.Units, error) {
	if u.gone != nil {
		return nil, u.gone
	}
	return (*unrulyUnits)(u), nil
}

type unrulyUnits unruly

func (u *unrulyUnits) Unit(ctx context.Context, name string) (image.Unit, error) {
	if u.jobs > 0 && u.asking != nil {
		return image.Unit{}, u.asking
	}
	if u.jobs > 0 && u.then != nil {
		return *u.then, nil
	}
	return u.Services().Unit(ctx, name)
}
func (u *unrulyUnits) Reload(ctx context.Context) error { return u.Services().Reload(ctx) }
func (u *unrulyUnits) NeedsReload(ctx context.Context, name string) (bool, error) {
	return u.Services().NeedsReload(ctx, name)
}
func (u *unrulyUnits) SetEnabled(ctx context.Context, name string, on bool) error {
	return u.Services().SetEnabled(ctx, name, on)
}
func (u *unrulyUnits) SetMasked(ctx context.Context, name string, on bool) error {
	return u.Services().SetMasked(ctx, name, on)
}
func (u *unrulyUnits) Job(ctx context.Context, verb, name string) error {
	u.jobs++
	return u.Services().Job(ctx, verb, name)
}
func (u *unrulyUnits) Lasts(context.Context, string) error { return u.lasts }

// TestUnruly: the state is checked again after systemd reports a job as done.
func TestUnruly(t *testing.T) {
	off := image.Unit{Loaded: true, State: "disabled", Active: "inactive"}
	on := image.Unit{Loaded: true, State: "disabled", Active: "active"}
	l, ds := step.Parse("list", []byte("UNIT s.service active=true\n"))
	if err := ds.Err(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		from, to image.Unit
		h        unruly
		want     string
	}{
		{"started", off, on, unruly{}, ""},
		{"stopped", on, off, unruly{}, ""},
		{"ended well at once", off, on, unruly{then: &off},
			"cannot keep s.service running: it ended without an error and is inactive"},
		{"started again by its socket", on, off, unruly{then: &on}, "cannot keep s.service stopped: it is active again"},
		{"not to be seen any more", off, on, unruly{asking: errors.New("no answer")}, "no answer"},
		{"no manager", off, on, unruly{gone: errors.New("no systemd")}, "no systemd"},
	} {
		c.h.Host = mem.New(mem.Options{})
		c.h.Services().Define("s.service", c.from)
		err := (Unit{}).Move(context.Background(), verb.Env{Host: &c.h}, l[0], image.Image{}, image.Of(&c.to))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// TestLasts: a manager that supports the check is used, and otherwise trusted. Only a unit that
// must run may not end well.
func TestLasts(t *testing.T) {
	ctx, off := context.Background(), image.Unit{Loaded: true, Active: "inactive"}
	asked := func(u unruly, wanted bool) error {
		u.Host = mem.New(mem.Options{})
		u.Services().Define("s.service", off)
		return Lasts(ctx, &u, "s.service", wanted)
	}
	if err := Lasts(ctx, mem.New(mem.Options{}), "s.service", true); err != nil {
		t.Errorf("one that cannot tell: %v", err)
	}
	if err := asked(unruly{lasts: errors.New("it died")}, false); err == nil || !strings.Contains(err.Error(), "it died") {
		t.Errorf("one that died: %v", err)
	}
	if err := asked(unruly{}, false); err != nil {
		t.Errorf("one that may end: %v", err)
	}
	if err := asked(unruly{}, true); err == nil || !strings.Contains(err.Error(), "cannot keep s.service running") {
		t.Errorf("one that may not end: %v", err)
	}
	if err := asked(unruly{gone: errors.New("no systemd")}, true); err == nil ||
		!strings.Contains(err.Error(), "no systemd") {
		t.Errorf("no manager: %v", err)
	}
}
