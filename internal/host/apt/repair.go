package apt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sort"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// updatesDir contains updates that an interrupted dpkg has not merged into its status.
const updatesDir = "/var/lib/dpkg/updates"

// Audit implements host.Packages: a scan of the states, the remains of an interrupted dpkg, and the
// output of dpkg --audit.
func (p *packages) Audit(ctx context.Context) (string, error) {
	inv, err := p.inventory(ctx)
	if err != nil {
		return "", err
	}
	var parts []string
	if left, err := p.interrupted(); err != nil {
		return "", err
	} else if left {
		parts = append(parts, "dpkg was interrupted")
	}
	parts = append(parts, halfDone(inv)...)
	if len(parts) > 0 {
		return strings.Join(parts, "; "), nil
	}
	r, err := p.h.Run(ctx, host.Command{Argv: []string{"dpkg", "--audit"}, Timeout: time.Minute})
	if err != nil {
		return "", fmt.Errorf("cannot audit the packages: %w", err)
	}
	return strings.Join(strings.Fields(string(r.Stdout)), " "), nil
}

// interrupted reports whether dpkg left numbered updates.
func (p *packages) interrupted() (bool, error) {
	names, err := p.h.ReadDir(updatesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot audit the packages: %w", err)
	}
	for _, n := range names {
		if strings.Trim(n, "0123456789") == "" {
			return true, nil
		}
	}
	return false, nil
}

// halfDone describes every package that is neither there, nor gone, whole.
func halfDone(inv inventory) []string {
	words := map[byte]string{
		'H': "is half installed", 'U': "is unpacked, not configured", 'F': "is half configured",
		'W': "is waiting for triggers", 't': "has triggers to process",
	}
	var out []string
	for name, i := range inv.packages {
		word := words[status2(i)]
		if i.broken {
			word = "must be installed again"
		}
		if word != "" {
			out = append(out, name+" "+word)
		}
	}
	sort.Strings(out)
	return out
}

// ready waits for the package locks and reads the inventory.
func (p *packages) ready(ctx context.Context, progress func(host.Progress)) (inventory, error) {
	if progress == nil {
		progress = func(host.Progress) {}
	}
	if err := p.WaitLock(ctx, progress); err != nil {
		return inventory{}, err
	}
	return p.inventory(ctx)
}

// Repair implements host.Packages. It succeeds if Audit then reports nothing, even if single tools
// failed.
func (p *packages) Repair(ctx context.Context, progress func(host.Progress)) error {
	inv, err := p.ready(ctx, progress)
	if err != nil {
		return err
	}
	failed := p.repair(ctx, progress, inv)
	if ctx.Err() != nil {
		return fmt.Errorf("cannot repair the packages: %w", ctx.Err())
	}
	left, err := p.Audit(ctx)
	switch {
	case err != nil:
		return err
	case left == "":
		return nil
	case failed != nil:
		return fmt.Errorf("cannot repair the packages: %s: %w", left, failed)
	}
	return fmt.Errorf("cannot repair the packages: %s; see dpkg --audit", left)
}

// Configure configures unpacked packages and reads the notes of an interrupted dpkg. It installs
// and removes no package. Audit reports the remaining problems.
func (p *packages) Configure(ctx context.Context, progress func(host.Progress)) error {
	inv, err := p.ready(ctx, progress)
	if err != nil {
		return err
	}
	return p.apt(ctx, progress, inv, configure())
}

func configure() []string {
	return []string{"dpkg", "--force-confdef", "--force-confold", "--configure", "-a"}
}

// repair configures unpacked packages, installs broken packages again, and lets apt complete
// dependencies. These can be needed to configure packages, so it repeats a failed configuration.
func (p *packages) repair(ctx context.Context, progress func(host.Progress), inv inventory) error {
	if err := p.unfinishedStay(ctx, inv); err != nil {
		return err
	}
	first := p.apt(ctx, progress, inv, configure())
	var again []string
	if now, err := p.inventory(ctx); err == nil {
		again = reinstall(now)
	}
	if len(again) > 0 {
		argv := append([]string{"apt-get", "install", "--fix-broken", "--reinstall"}, aptOptions()...)
		if err := p.apt(ctx, progress, inv, append(argv, again...)); err != nil {
			first = firstError(first, err)
		}
	}
	if err := p.apt(ctx, progress, inv, append([]string{"apt-get", "--fix-broken", "install"},
		aptOptions()...)); err != nil {
		return firstError(first, err)
	}
	if first == nil {
		return nil
	}
	return p.apt(ctx, progress, inv, configure())
}

// reinstall returns packages that are incomplete on disk.
func reinstall(inv inventory) []string {
	var out []string
	for name, i := range inv.packages {
		if i.broken || status2(i) == 'H' {
			out = append(out, name)
		}
	}
	sort.Strings(out)
	return out
}

// Sweep removes files that an interrupted unpacking left beside the files of the packages,
// NAME.dpkg-new and NAME.dpkg-tmp. dpkg does not remove them if its next operation is different.
// Sweep removes only files that changed since a time (ns since 1970). Call it only when Audit
// reports nothing.
func (p *packages) Sweep(ctx context.Context, names []string, since int64) error {
	if len(names) == 0 {
		return nil
	}
	r, err := p.h.Run(ctx, host.Command{Argv: append([]string{"dpkg-query", "-L"}, names...), Timeout: time.Minute})
	if err != nil {
		return fmt.Errorf("cannot list the temporary files of an interrupted dpkg: %w", err)
	}
	dirs := map[string]bool{}
	for line := range strings.Lines(string(r.Stdout)) {
		if f := strings.TrimSpace(line); strings.HasPrefix(f, "/") && host.CheckPath(f) == nil {
			dirs[path.Dir(f)] = true
		}
	}
	for dir := range dirs {
		if err := p.sweepDir(dir, since); err != nil {
			return fmt.Errorf("cannot remove the temporary files of an interrupted dpkg: %w", err)
		}
	}
	return nil
}

func (p *packages) sweepDir(dir string, since int64) error {
	all, err := p.h.ReadDir(dir)
	if err != nil {
		return nil // it was removed with its package
	}
	for _, name := range all {
		if !strings.HasSuffix(name, ".dpkg-new") && !strings.HasSuffix(name, ".dpkg-tmp") {
			continue
		}
		full := path.Join(dir, name)
		st, err := p.h.Lstat(full)
		if err != nil || st.CTime < since || st.Type != image.Regular && st.Type != image.Symlink {
			continue
		}
		if err := p.h.Remove(full); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
