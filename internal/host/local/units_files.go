package local

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
)

// SetEnabled implements host.Units. It fails if the unit does not reach the desired state, for
// example without an [Install] section.
func (u *units) SetEnabled(ctx context.Context, name string, on bool) error {
	name = unitName(name)
	verb := map[bool]string{true: "enable", false: "disable"}[on]
	before, err := u.Unit(ctx, name)
	switch {
	case err != nil:
		return err
	case !before.Loaded && on:
		return fmt.Errorf("cannot enable %s: there is no such unit; install the package or write the unit file first", name)
	case !before.Loaded || before.Enabled() == on && before.State != "enabled-runtime":
		return nil
	case before.Masked && on:
		return fmt.Errorf("cannot enable %s: it is masked; unmask it first (masked = false)", name)
	}
	if err := u.h.op("unit-"+verb, name); err != nil {
		return err
	}
	if err := u.switchFiles(ctx, name, on); err != nil {
		return fmt.Errorf("cannot %s %s: %w", verb, name, err)
	}
	if err := u.reload(ctx); err != nil {
		return err
	}
	after, err := u.Unit(ctx, name)
	if err == nil && after.Enabled() != on && on && after.State != "indirect" && after.State != "alias" {
		return fmt.Errorf("cannot enable %s: it is %s, because its unit file has no [Install] section; omit enabled", name,
			after.State)
	}
	return err
}

func (u *units) switchFiles(ctx context.Context, name string, on bool) error {
	if sysv, err := u.isSysV(ctx, name); err != nil || sysv {
		return errors.Join(err, u.systemctl(ctx, on, name))
	}
	c, err := u.bus()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if on {
		_, _, err = c.EnableUnitFilesContext(ctx, []string{name}, false, false)
		return err
	}
	_, err = c.DisableUnitFilesContext(ctx, []string{name}, false)
	if err == nil {
		_, err = c.DisableUnitFilesContext(ctx, []string{name}, true)
	}
	return err
}

// isSysV reports whether the unit has only an init script. The manager itself cannot enable such a
// unit: systemctl calls update-rc.d.
func (u *units) isSysV(ctx context.Context, name string) (bool, error) {
	if isTemplate(name) {
		return false, nil
	}
	p, err := u.props(ctx, name)
	if err != nil {
		return false, err
	}
	return p.text("UnitFileState") == "generated" && strings.HasPrefix(p.text("SourcePath"), "/etc/init.d/"), nil
}

func (u *units) systemctl(ctx context.Context, on bool, name string) error {
	verb := map[bool]string{true: "enable", false: "disable"}[on]
	r, err := u.h.Run(ctx, host.Command{Argv: []string{"systemctl", "--no-ask-password", verb, name},
		Timeout: time.Minute})
	if err != nil {
		return err
	}
	if r.ExitCode != 0 {
		return errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	return nil
}

// SetMasked implements host.Units. A unit file that an administrator created in /etc prevents
// masking and is never overwritten.
func (u *units) SetMasked(ctx context.Context, name string, on bool) error {
	name = unitName(name)
	verb := map[bool]string{true: "mask", false: "unmask"}[on]
	before, err := u.Unit(ctx, name)
	if err != nil || before.Masked == on {
		return err
	}
	if err := u.h.op("unit-"+verb, name); err != nil {
		return err
	}
	if err := u.maskFiles(ctx, name, on); err != nil {
		return fmt.Errorf("cannot %s %s: %w", verb, name, err)
	}
	return u.reload(ctx)
}

func (u *units) maskFiles(ctx context.Context, name string, on bool) error {
	c, err := u.bus()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if on {
		_, err = c.MaskUnitFilesContext(ctx, []string{name}, false, false)
		return err
	}
	_, err = c.UnmaskUnitFilesContext(ctx, []string{name}, false)
	if err == nil {
		_, err = c.UnmaskUnitFilesContext(ctx, []string{name}, true)
	}
	return err
}
