package fault

import (
	"context"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// Accounts breaks each call that changes an account.
func (h *Host) Accounts() host.Accounts { return accounts{h.Host.Accounts(), h.plan, h} }

// Packages breaks each call that changes packages.
func (h *Host) Packages() (host.Packages, error) {
	p, err := read(h, h.Host.Packages)
	if err != nil {
		return nil, err
	}
	return packages{p, h.plan, h}, nil
}

// Units breaks each call that changes a unit.
func (h *Host) Units() (host.Units, error) {
	u, err := read(h, h.Host.Units)
	if err != nil {
		return nil, err
	}
	return units{u, h.plan, h}, nil
}

type accounts struct {
	host.Accounts
	plan *Plan
	h    *Host
}

func (a accounts) User(name string) (image.User, error) {
	return read(a.h, func() (image.User, error) { return a.Accounts.User(name) })
}

func (a accounts) Group(name string) (image.Group, error) {
	return read(a.h, func() (image.Group, error) { return a.Accounts.Group(name) })
}

func (a accounts) SetUser(ctx context.Context, name string, to image.User, create host.NewUser) error {
	return a.plan.act(host.OpRun, name, func() error { return a.Accounts.SetUser(ctx, name, to, create) })
}

func (a accounts) SetGroup(ctx context.Context, name string, to image.Group, system bool) error {
	return a.plan.act(host.OpRun, name, func() error { return a.Accounts.SetGroup(ctx, name, to, system) })
}

func (a accounts) SetMember(ctx context.Context, user, group string, present bool) error {
	return a.plan.act(host.OpRun, user, func() error { return a.Accounts.SetMember(ctx, user, group, present) })
}

type packages struct {
	host.Packages
	plan *Plan
	h    *Host
}

func (p packages) Installed(ctx context.Context, names []string) (map[string]image.Package, error) {
	return read(p.h, func() (map[string]image.Package, error) { return p.Packages.Installed(ctx, names) })
}

func (p packages) Simulate(ctx context.Context, changes []host.PackageChange) (map[string]string, error) {
	return read(p.h, func() (map[string]string, error) { return p.Packages.Simulate(ctx, changes) })
}

func (p packages) Outlook(ctx context.Context, changes []host.PackageChange,
	keep []string) (host.PackageOutlook, error) {
	return read(p.h, func() (host.PackageOutlook, error) { return p.Packages.Outlook(ctx, changes, keep) })
}

func (p packages) Offers(ctx context.Context, changes []host.PackageChange) (host.PackageOffers, error) {
	return read(p.h, func() (host.PackageOffers, error) { return p.Packages.Offers(ctx, changes) })
}

func (p packages) NeededBy(ctx context.Context, names []string) (map[string][]string, error) {
	return read(p.h, func() (map[string][]string, error) { return p.Packages.NeededBy(ctx, names) })
}

func (p packages) Remains(ctx context.Context, names []string) (map[string]image.Remains, error) {
	return read(p.h, func() (map[string]image.Remains, error) { return p.Packages.Remains(ctx, names) })
}

func (p packages) Audit(ctx context.Context) (string, error) {
	return read(p.h, func() (string, error) { return p.Packages.Audit(ctx) })
}

func (p packages) Change(ctx context.Context, changes []host.PackageChange,
	progress func(host.Progress)) (map[string]string, error) {
	return write(p.plan, host.OpRun, "apt-get", func() (map[string]string,
		error) {
		return p.Packages.Change(ctx, changes, progress)
	})
}

func (p packages) Repair(ctx context.Context, progress func(host.Progress)) error {
	return p.plan.act(host.OpRun, "dpkg", func() error { return p.Packages.Repair(ctx, progress) })
}

type units struct {
	host.Units
	plan *Plan
	h    *Host
}

func (u units) Unit(ctx context.Context, name string) (image.Unit, error) {
	return read(u.h, func() (image.Unit, error) { return u.Units.Unit(ctx, name) })
}

func (u units) NeedsReload(ctx context.Context, name string) (bool, error) {
	return read(u.h, func() (bool, error) { return u.Units.NeedsReload(ctx, name) })
}

func (u units) Reload(ctx context.Context) error {
	return u.plan.act(host.OpRun, "systemctl", func() error { return u.Units.Reload(ctx) })
}

func (u units) SetEnabled(ctx context.Context, name string, on bool) error {
	return u.plan.act(host.OpRun, name, func() error { return u.Units.SetEnabled(ctx, name, on) })
}

func (u units) SetMasked(ctx context.Context, name string, on bool) error {
	return u.plan.act(host.OpRun, name, func() error { return u.Units.SetMasked(ctx, name, on) })
}

func (u units) Job(ctx context.Context, verb, name string) error {
	return u.plan.act(host.OpRun, name, func() error { return u.Units.Job(ctx, verb, name) })
}
