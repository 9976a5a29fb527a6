// Package unit is UNIT: systemd units.
//
//	UNIT nginx.service enabled=true active=true
//	UNIT apt-daily.timer masked=true
package unit

import (
	"context"
	"fmt"
	"time"

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
	if _, said := s.Lookup("active"); said && u.Restarting {
		u.Active = image.Restarting
	}
	u.Restarting = false
	return image.Of(&u), err
}

// Running reports whether the manager counts a unit as active or activating.
func Running(active string) bool {
	return active == "active" || active == "reloading" || active == "activating" || active == "refreshing"
}

// Started reports whether the manager tries to keep a unit running, also if the unit fails
// repeatedly.
func Started(active string) bool { return Running(active) || active == image.Restarting }

// inState reports whether a unit matches active=….
func inState(active string, wanted bool) bool {
	if wanted {
		return Running(active)
	}
	return !Started(active)
}

// Target implements verb.Verb.
func (Unit) Target(s step.Step, now image.Image, _ verb.Names) (image.Image, error) {
	u := image.Unit{}
	if now.Unit() != nil {
		u = *now.Unit()
	}
	if !u.Loaded && (s.Get("enabled") == "true" || s.Get("active") == "true") {
		return image.Image{},
			verb.NotYetf(s.Addr(),
				"there is no unit %q on this host; install the package that ships it, or write its unit file, before this step",
				s.Args[0])
	}
	if v, ok := s.Lookup("masked"); ok {
		if u.Masked = v == "true"; u.Masked {
			u.State = "masked"
		} else if u.State == "masked" || u.State == "masked-runtime" {
			u.State = "disabled"
		}
	}
	if wakes := s.Get("enabled") == "true" && !u.Enabled() || s.Get("active") == "true" && !Running(u.Active); wakes &&
		u.Masked {
		return image.Image{}, fmt.Errorf("cannot enable or start unit %q: it is masked; add masked=false to this step",
			s.Args[0])
	}
	if v, ok := s.Lookup("enabled"); ok && u.Enabled() != (v == "true") {
		u.State = map[bool]string{true: "enabled", false: "disabled"}[v == "true"]
	}
	if v, ok := s.Lookup("active"); ok && !inState(u.Active, v == "true") {
		u.Active = map[bool]string{true: "active", false: "inactive"}[v == "true"]
	}
	return image.Of(&u), nil
}

// Move implements verb.Mover. It enables and unmasks before it starts, and starts or stops before
// it masks, so that no operation prevents the next.
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
	if !now.Loaded && !to.Unit().Loaded && !Running(now.Active) {
		return nil // a unit that runs without its unit file is still stopped
	}
	now.Restarting = now.Restarting && s.Get("active") == "true"
	ctx, cancel := Limited(ctx, s)
	defer cancel()
	if err := steer(ctx, units, name, now, *to.Unit()); err != nil {
		return err
	}
	return reached(ctx, units, name, now, *to.Unit())
}

// limit is the time limit for starting or stopping a unit without its own limit. For many units,
// such as units of type oneshot, systemd itself waits permanently.
const limit = 5 * time.Minute

// Limited bounds a job on a unit by the step's timeout.
func Limited(ctx context.Context, s step.Step) (context.Context, context.CancelFunc) {
	d, err := time.ParseDuration(s.Get("timeout"))
	if err != nil {
		d = limit
	}
	return context.WithTimeout(ctx, d)
}

// reached checks that a started unit runs, and that a stopped unit does not. systemd reports both
// jobs as done even if the unit's end, or another process, has reverted them.
func reached(ctx context.Context, units host.Units, name string, was, to image.Unit) error {
	if Started(was.Active) == Started(to.Active) {
		return nil
	}
	now, err := units.Unit(ctx, name)
	switch {
	case err != nil:
		return err
	case Started(to.Active) && !Running(now.Active):
		return fmt.Errorf("cannot keep %s running: it ended without an error and is %s. If it should do its work and end, set RemainAfterExit=yes in its unit file, or start it with an action instead", name, now.Active)
	case !Started(to.Active) && Running(now.Active):
		return fmt.Errorf("cannot keep %s stopped: it is %s again. First stop the unit that starts it, a socket, path or timer of the same name, or mask it (masked = true)", name, now.Active)
	}
	return nil
}

// Lasting is a service manager that can report whether a started unit keeps running.
type Lasting interface {
	// Lasts waits until a unit that was started with Job has run for a moment. The error describes
	// how it ended, with its last log lines; it is nil for a unit that Job did not start.
	Lasts(ctx context.Context, name string) error
}

// Lasts checks that a unit that a step or an action has just started still runs. If wanted is
// false, the unit may also have ended successfully. If the manager of h does not support the check,
// it passes.
func Lasts(ctx context.Context, h host.Host, name string, wanted bool) error {
	units, err := h.Units()
	if err != nil {
		return err
	}
	l, ok := units.(Lasting)
	if !ok {
		return nil
	}
	if err := l.Lasts(ctx, name); err != nil || !wanted {
		return err
	}
	return reached(ctx, units, name, image.Unit{Active: "inactive"}, image.Unit{Active: "active"})
}

func steer(ctx context.Context, units host.Units, name string, now, to image.Unit) error {
	if Running(now.Active) && !Started(to.Active) {
		if err := units.Job(ctx, "stop", name); err != nil {
			return err
		}
	}
	start := Started(to.Active) && !Running(now.Active)
	masked := now.Masked
	if masked && (!to.Masked || start) { // a masked unit cannot be started
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
	job := "start"
	if now.Restarting && Running(to.Active) { // its failures so far no longer count
		start, job = true, "restart"
	}
	if start {
		if err := units.Job(ctx, job, name); err != nil {
			return err
		}
	}
	if to.Masked && !masked {
		return units.SetMasked(ctx, name, true)
	}
	return nil
}

// settable reports whether enable and disable lead to this state; units without an [Install]
// section are always static.
func settable(state string) bool {
	return state == "enabled" || state == "disabled" || state == "masked"
}
