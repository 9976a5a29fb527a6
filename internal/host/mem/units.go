package mem

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Units simulates the service manager. It has the units that a test defined, and units with a file
// in a directory of systemd.
type Units struct {
	fs *FS
	op host.OperationHook

	mu    sync.Mutex
	units map[string]image.Unit
	files map[string]int64 // modification times at the last reload
	fails map[string]error
	jobs  []string
	late  map[string]image.Unit
}

var _ host.Units = (*Units)(nil)

func newUnits() *Units {
	return &Units{units: map[string]image.Unit{}, files: map[string]int64{}, fails: map[string]error{}}
}

// rebooted returns the same units after a boot: enabled units run.
func (u *Units) rebooted() *Units {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := newUnits()
	maps.Copy(out.fails, u.fails)
	maps.Copy(out.files, u.files)
	for name, unit := range u.units {
		unit.Active = "inactive"
		if unit.Enabled() && !unit.Masked {
			unit.Active = "active"
		}
		out.units[name] = unit
	}
	return out
}

// Define makes a unit be known, as if its package were installed.
func (u *Units) Define(name string, unit image.Unit) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.units[name] = unit
}

// Fail makes the verb on a unit fail, until Fail with nil.
func (u *Units) Fail(verb, name string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fails[verb+" "+name] = err
}

// Late changes a unit at the next reload. This simulates a request of a dead client that the
// manager has not processed, or does not show yet.
func (u *Units) Late(name string, unit image.Unit) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.late = map[string]image.Unit{name: unit}
}

// Jobs lists the jobs so far, "VERB NAME" each, including "daemon-reload".
func (u *Units) Jobs() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.jobs)
}

// Unit implements host.Units.
func (u *Units) Unit(_ context.Context, name string) (image.Unit, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.get(name), nil
}

func (u *Units) get(name string) image.Unit {
	unit, known := u.units[name]
	if !known && u.fileTime(name) != 0 {
		unit = image.Unit{Loaded: true, State: "disabled", Active: "inactive"}
	}
	return unit
}

// fileTime is when the unit's file was written, 0 when there is none.
func (u *Units) fileTime(name string) int64 {
	for _, dir := range []string{"/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		if st, err := u.fs.Lstat(dir + "/" + name); err == nil {
			return st.MTime
		}
	}
	return 0
}

// change counts an operation on a unit that must be known, and does it.
func (u *Units) change(verb, name string, do func(*image.Unit)) error {
	if err := u.op(host.OpRun, "systemctl"); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	unit := u.get(name)
	if !unit.Loaded && !unit.Masked && verb != "mask" {
		return fmt.Errorf("cannot %s unit %q: there is no such unit", verb, name)
	}
	u.jobs = append(u.jobs, verb+" "+name)
	if err := u.fails[verb+" "+name]; err != nil {
		if slices.Contains([]string{"start", "restart", "reload-or-restart", "try-restart"}, verb) {
			unit.Active = "failed"
			u.units[name] = unit
		}
		return fmt.Errorf("cannot %s unit %q: %w", verb, name, err)
	}
	do(&unit)
	u.units[name] = unit
	return nil
}

// Reload implements host.Units.
func (u *Units) Reload(context.Context) error {
	if err := u.op(host.OpRun, "systemctl"); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.jobs = append(u.jobs, "daemon-reload")
	maps.Copy(u.units, u.late)
	u.late = nil
	for name := range u.units {
		u.files[name] = u.fileTime(name)
	}
	return nil
}

// NeedsReload implements host.Units.
func (u *Units) NeedsReload(_ context.Context, name string) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	_, known := u.units[name]
	return known && u.fileTime(name) != u.files[name], nil
}

// SetEnabled implements host.Units. As with systemd, a masked unit cannot be enabled, and disabling
// it changes nothing.
func (u *Units) SetEnabled(_ context.Context, name string, on bool) error {
	u.mu.Lock()
	masked := u.get(name).Masked
	u.mu.Unlock()
	if masked && on {
		return fmt.Errorf("cannot enable unit %q: it is masked; unmask it first", name)
	}
	verb, state := "disable", "disabled"
	if on {
		verb, state = "enable", "enabled"
	}
	return u.change(verb, name, func(unit *image.Unit) {
		if unit.State != "static" && !unit.Masked {
			unit.State = state
		}
	})
}

// SetMasked implements host.Units. Unmasking leaves a unit disabled, as
// systemd does.
func (u *Units) SetMasked(_ context.Context, name string, on bool) error {
	if on {
		return u.change("mask", name, func(unit *image.Unit) { unit.Masked, unit.State = true, "masked" })
	}
	return u.change("unmask", name, func(unit *image.Unit) {
		if unit.Masked {
			unit.Masked, unit.State = false, "disabled"
		}
	})
}

// Job implements host.Units.
func (u *Units) Job(_ context.Context, verb, name string) error {
	after := map[string]string{
		"start": "active", "restart": "active", "reload-or-restart": "active", "stop": "inactive", "reload": "",
		"try-restart": "",
	}
	state, known := after[verb]
	if !known {
		return fmt.Errorf("cannot %s unit %q: there is no such job", verb, name)
	}
	u.mu.Lock()
	now := u.get(name)
	u.mu.Unlock()
	if now.Masked && state == "active" {
		return fmt.Errorf("cannot %s unit %q: it is masked; unmask it first", verb, name)
	}
	if verb == "reload" && now.Active != "active" {
		return fmt.Errorf("cannot reload unit %q: it is not running; start it first", name)
	}
	return u.change(verb, name, func(unit *image.Unit) {
		if state != "" {
			unit.Active, unit.Restarting = state, false
		}
	})
}
