package apt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

const archives = "/var/cache/apt/archives"

// debNames are apt's possible file names for a version of a package; arch is the host's own
// architecture.
func debNames(arch, name, version string) []string {
	name, other, foreign := strings.Cut(name, ":")
	stem := name + "_" + strings.ReplaceAll(version, ":", "%3a") + "_"
	if foreign {
		return []string{stem + other + ".deb"}
	}
	return []string{stem + arch + ".deb", stem + "all.deb"}
}

// findDeb looks for the package's file in a directory, "" when there is none.
func (p *packages) findDeb(dir, arch, name, version string) string {
	for _, n := range debNames(arch, name, version) {
		st, err := p.h.Lstat(path.Join(dir, n))
		if err == nil && st.Type == image.Regular {
			return path.Join(dir, n)
		}
	}
	return ""
}

// source returns the argument of apt-get install for a version: the kept file if it exists, because
// the archive can have dropped the version.
func (p *packages) source(arch, name, version string) string {
	if deb := p.findDeb(p.Debs, arch, name, version); deb != "" {
		return deb
	}
	return name + "=" + version
}

// Keep implements host.Packages: from the kept files, from apt's cache, or from the archive.
func (p *packages) Keep(ctx context.Context, name, version string) (deb string, ok bool, err error) {
	if err := checkNames([]host.PackageChange{{Name: name, Version: version}}); err != nil {
		return "", false, err
	}
	inv, err := p.inventory(ctx)
	if err != nil {
		return "", false, err
	}
	if deb := p.findDeb(p.Debs, inv.arch, name, version); deb != "" {
		return deb, true, nil
	}
	if err := p.makeDir(p.Debs); err != nil {
		return "", false, fmt.Errorf("cannot store the .deb of package %s: %w", name, err)
	}
	if cached := p.findDeb(archives, inv.arch, name, version); cached != "" {
		to := path.Join(p.Debs, path.Base(cached))
		if err := p.copyFile(cached, to); err != nil {
			return "", false, fmt.Errorf("cannot store the .deb of package %s: %w", name, err)
		}
		return to, true, nil
	}
	return p.download(ctx, inv.arch, name, version)
}

// CanKeep reports whether Keep would find the file of a version, without fetching it.
func (p *packages) CanKeep(ctx context.Context, name, version string) bool {
	inv, err := p.inventory(ctx)
	if err != nil || checkNames([]host.PackageChange{{Name: name, Version: version}}) != nil {
		return false
	}
	if p.findDeb(p.Debs, inv.arch, name, version) != "" || p.findDeb(archives, inv.arch, name, version) != "" {
		return true
	}
	r, err := p.h.Run(ctx, host.Command{
		Argv: []string{"apt-get", "download", "-q", "--print-uris", name + "=" + version}, Env: aptEnv(),
		Timeout: time.Minute,
	})
	return err == nil && r.ExitCode == 0
}

// download fetches a version into a separate directory, so that a partial file never has the final
// name among the kept files.
func (p *packages) download(ctx context.Context, arch, name, version string) (string, bool, error) {
	part := path.Join(p.Debs, ".download")
	if err := p.makeDir(part); err != nil {
		return "", false, fmt.Errorf("cannot store the .deb of package %s: %w", name, err)
	}
	r, err := p.h.Run(ctx, host.Command{
		Argv: []string{"apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", name + "=" + version},
		Dir:  part, Env: aptEnv(), Timeout: 15 * time.Minute, Mutates: true,
	})
	if err != nil {
		return "", false, fmt.Errorf("cannot store the .deb of package %s: %w", name, err)
	}
	got := p.findDeb(part, arch, name, version)
	if r.ExitCode != 0 || got == "" {
		return "", false, p.clear(part)
	}
	to := path.Join(p.Debs, path.Base(got))
	if err := p.copyFile(got, to); err != nil {
		return "", false, fmt.Errorf("cannot store the .deb of package %s: %w", name, err)
	}
	return to, true, p.clear(part)
}

// clear removes the remains of a download.
func (p *packages) clear(dir string) error {
	names, err := p.h.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := p.h.Remove(path.Join(dir, n)); err != nil {
			return err
		}
	}
	return nil
}

// makeDir makes a directory and its parents, 0700.
func (p *packages) makeDir(dir string) error {
	err := p.h.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) && dir != "/" {
		if err := p.makeDir(path.Dir(dir)); err != nil {
			return err
		}
		err = p.h.Mkdir(dir, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return isDir(p.h, dir)
	}
	return err
}

func isDir(h host.Host, dir string) error {
	st, err := h.Lstat(dir)
	if err == nil && st.Type != image.Directory {
		err = fmt.Errorf("%s is not a directory", dir)
	}
	return err
}

// copyFile makes a durable copy that has its name only when it is whole.
func (p *packages) copyFile(from, to string) error {
	src, err := p.h.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	temp := path.Join(path.Dir(to), ".part")
	if err := p.h.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	dst, err := p.h.Create(temp)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if err == nil {
		err = dst.Sync()
	}
	if err := errors.Join(err, dst.Close()); err != nil {
		return err
	}
	if err := p.h.Rename(temp, to); err != nil {
		return err
	}
	return p.h.SyncDir(path.Dir(to))
}
