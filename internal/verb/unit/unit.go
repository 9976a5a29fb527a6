// Package unit is UNIT: systemd units.
//
//	UNIT nginx.service enabled=true active=true
//	UNIT apt-daily.timer masked=true
package unit

import (
	"context"
	"fmt"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/step"
	"fettle.dev/fettle/internal/verb"
)

// Unit is UNIT.
type Unit struct{}

// Observe implements verb.Verb.
func (Unit) Observe(ctx context.Context, e verb.Env, s step.Step) (image.Image, error) {
	units, err := e.Host.Units()
	if err != nil {
		return image.Image{}, err
	}
	u, err := units.Unit(ctx, s.Args[0])
	return image.Image{Unit: &u}, err
}

// running tells whether the manager counts a unit as active or on its way.
func running(active string) bool {
	return active == "active" || active == "reloading" || active == "activating" || active == "refreshing"
}

// Target implements verb.Verb.
func (Unit) Target(s step.Step, now image.Image, _ verb.Names) (image.Image, error) {
	u := image.Unit{}
	if now.Unit != nil {
		u = *now.Unit
	}
	if !u.Loaded && (s.Get("enabled") == "true" || s.Get("active") == "true") {
		return image.Image{}, verb.NotYetf("there is no unit %q on this host; install the package that ships it, or write its unit file, before this step", s.Args[0])
	}
	if v, ok := s.Lookup("masked"); ok {
		if u.Masked = v == "true"; u.Masked {
			u.State = "masked"
		} else if u.State == "masked" || u.State == "masked-runtime" {
			u.State = "disabled"
		}
	}
	if wakes := s.Get("enabled") == "true" && !u.Enabled() || s.Get("active") == "true" && !running(u.Active); wakes && u.Masked {
		return image.Image{}, fmt.Errorf("cannot enable or start unit %q: it is masked; say masked=false in this step", s.Args[0])
	}
	if v, ok := s.Lookup("enabled"); ok && u.Enabled() != (v == "true") {
		u.State = map[bool]string{true: "enabled", false: "disabled"}[v == "true"]
	}
	if v, ok := s.Lookup("active"); ok && running(u.Active) != (v == "true") {
		u.Active = map[bool]string{true: "active", false: "inactive"}[v == "true"]
	}
	return image.Image{Unit: &u}, nil
}

// Move implements verb.Mover. Starting comes after enabling and unmasking,
// stopping and starting before masking, so that no step works against the next.
func (Unit) Move(ctx context.Context, e verb.Env, s step.Step, _, to image.Image) error {
	units, err := e.Host.Units()
	if err != nil {
		return err
	}
	name := s.Args[0]
	now, err := units.Unit(ctx, name)
	if err != nil {
		return err
	}
	if !now.Loaded && !to.Unit.Loaded {
		return nil
	}
	return steer(ctx, units, name, now, *to.Unit)
}

func steer(ctx context.Context, units host.Units, name string, now, to image.Unit) error {
	if running(now.Active) && !running(to.Active) {
		if err := units.Job(ctx, "stop", name); err != nil {
			return err
		}
	}
	start := running(to.Active) && !running(now.Active)
	masked := now.Masked
	if masked && (!to.Masked || start) { // what is masked cannot be started
		if err := units.SetMasked(ctx, name, false); err != nil {
			return err
		}
		masked = false
	}
	if now.Enabled() != to.Enabled() && settable(to.State) {
		if err := units.SetEnabled(ctx, name, to.Enabled()); err != nil {
			return err
		}
	}
	if start {
		if err := units.Job(ctx, "start", name); err != nil {
			return err
		}
	}
	if to.Masked && !masked {
		return units.SetMasked(ctx, name, true)
	}
	return nil
}

// settable tells whether a state is one that enable and disable lead to; units
// without an [Install] section are static whatever one does.
func settable(state string) bool {
	return state == "enabled" || state == "disabled" || state == "masked"
}
