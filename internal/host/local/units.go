package local

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/coreos/go-systemd/v22/dbus"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/apt"
	"fettle.dev/fettle/internal/image"
)

// Units implements host.Host. The connection to systemd is made at the first
// call that needs it, and made again when it was lost.
func (h *Host) Units() (host.Units, error) {
	_, err := os.Stat("/run/systemd/system")
	if h.root != "/" || err != nil {
		return nil, fmt.Errorf(
			"cannot use units: systemd is not running (root %s): remove units from the list or use a booted host: %w",
			h.root, host.ErrUnsupported)
	}
	return &h.svc, nil
}

// units is systemd over D-Bus. The mutex guards the fields below it; calls are concurrent.
type units struct {
	h    *Host
	mu   sync.Mutex
	conn *dbus.Conn
	// launched are the units that this process has started.
	launched map[string]launch
}

// list returns the loaded units whose names match patterns.
func (u *units) list(ctx context.Context, patterns []string) (out []apt.Unit, err error) {
	c, err := u.bus()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	found, err := c.ListUnitsByPatternsContext(ctx, nil, patterns)
	for _, f := range found {
		out = append(out, apt.Unit{Name: f.Name, Active: f.ActiveState, Sub: f.SubState})
	}
	return out, err
}

// bus returns the connection. It outlives the call that creates it.
func (u *units) bus() (*dbus.Conn, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil && u.conn.Connected() {
		return u.conn, nil
	}
	if u.conn != nil {
		u.conn.Close()
		u.conn = nil
	}
	c, err := dial()
	if err != nil {
		return nil, fmt.Errorf("cannot reach systemd over D-Bus: %w", err)
	}
	u.conn = c
	return c, nil
}

func (u *units) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.conn != nil {
		u.conn.Close()
		u.conn = nil
	}
}

// unitName adds .service to a name without a suffix, as systemctl does.
func unitName(name string) string {
	if strings.Contains(name, ".") {
		return name
	}
	return name + ".service"
}

// isTemplate reports whether a name is a template such as foo@.service, which can be enabled but
// never runs itself.
func isTemplate(name string) bool { return strings.Contains(name, "@.") }

// Unit implements host.Units.
func (u *units) Unit(ctx context.Context, name string) (image.Unit, error) {
	name = unitName(name)
	if isTemplate(name) {
		return u.template(ctx, name)
	}
	p, err := u.props(ctx, name)
	if err != nil {
		return image.Unit{}, err
	}
	i := u.image(name, p)
	i.Restarting = i.Restarting || u.failsSlowly(ctx, name, p)
	return i, nil
}

func (u *units) image(name string, p props) image.Unit {
	load, state := p.text("LoadState"), p.text("UnitFileState")
	if load == "not-found" {
		return image.Unit{Active: p.text("ActiveState")}
	}
	if state == "generated" && strings.HasPrefix(p.text("SourcePath"), "/etc/init.d/") {
		state = u.sysvState(strings.TrimPrefix(p.text("SourcePath"), "/etc/init.d/"))
	}
	return image.Unit{
		Loaded: true,
		State:  state,
		Active: p.text("ActiveState"),
		Masked: load == "masked" || strings.HasPrefix(state, "masked"),

		Restarting: restarting(p, monotonic()),
	}
}

// template reads foo@.service, which has no properties of its own.
func (u *units) template(ctx context.Context, name string) (image.Unit, error) {
	c, err := u.bus()
	if err != nil {
		return image.Unit{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	files, err := c.ListUnitFilesByPatternsContext(ctx, nil, []string{name})
	if err != nil {
		return image.Unit{}, fmt.Errorf("cannot read unit %s: %w", name, err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Path, "/"+name) {
			return image.Unit{Loaded: true, State: f.Type, Active: "inactive", Masked: strings.HasPrefix(f.Type, "masked")}, nil
		}
	}
	return image.Unit{Active: "inactive"}, nil
}

// sysvState reports whether an init script is started in a runlevel that corresponds to systemd's
// multi-user targets.
func (u *units) sysvState(script string) string {
	for _, level := range []string{"2", "3", "4", "5"} {
		names, err := u.h.ReadDir("/etc/rc" + level + ".d")
		if err != nil {
			continue
		}
		for _, n := range names {
			if len(n) > 3 && n[0] == 'S' && n[3:] == script {
				return "enabled"
			}
		}
	}
	return "disabled"
}

// NeedsReload implements host.Units.
func (u *units) NeedsReload(ctx context.Context, name string) (bool, error) {
	name = unitName(name)
	if isTemplate(name) {
		return false, nil
	}
	p, err := u.props(ctx, name)
	if err != nil {
		return false, err
	}
	needs, _ := p["NeedDaemonReload"].(bool)
	return needs, nil
}

// Reload implements host.Units.
func (u *units) Reload(ctx context.Context) error {
	if err := u.h.op("unit-daemon-reload", ""); err != nil {
		return err
	}
	return u.reload(ctx)
}

func (u *units) reload(ctx context.Context) error {
	c, err := u.bus()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadLimit)
	defer cancel()
	if err := c.ReloadContext(ctx); err != nil {
		return fmt.Errorf("cannot make systemd read its unit files again: %w", err)
	}
	return nil
}

// props are the properties of one unit.
type props map[string]any

func (u *units) props(ctx context.Context, name string) (props, error) {
	c, err := u.bus()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	p, err := c.GetAllPropertiesContext(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("cannot read unit %s: %w", name, err)
	}
	return p, nil
}

// text is a string property, "" when the unit's type has none of that name.
func (p props) text(key string) string {
	s, _ := p[key].(string)
	return s
}
