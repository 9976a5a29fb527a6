package service

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet/pki"
	"fettle.dev/fettle/internal/host"
)

// install writes a key and its certificate into a new directory, and then makes the symbolic link
// point to it. A reader always finds a matching key and certificate, even after a crash.
func (k *Keeper) install(name string, key pki.ServiceKey, chain, authorities []*x509.Certificate) error {
	secret, err := key.Encode()
	if err != nil {
		return err
	}
	if err := k.directories(k.Dir); err != nil {
		return err
	}
	serial := pki.SerialOf(chain[0])
	dir := path.Join(k.Dir, "."+name+"."+serial)
	if err := k.Files.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("cannot create a directory for the certificate: %w", err)
	}
	all := []struct {
		name string
		text []byte
		mode uint32
	}{
		{"key.pem", secret, 0o600},
		{"certificate.pem", pki.EncodeCertificates(chain[0]), 0o644},
		{"chain.pem", pki.EncodeCertificates(chain[1:]...), 0o644},
		{"fullchain.pem", pki.EncodeCertificates(chain...), 0o644},
	}
	for _, f := range all {
		if err := k.fill(path.Join(dir, f.name), f.text, f.mode); err != nil {
			return err
		}
	}
	if err := errors.Join(k.Files.SyncDir(dir), k.replace("authority.pem",
		pki.EncodeCertificates(authorities...))); err != nil {
		return err
	}
	return errors.Join(k.point(name, path.Base(dir)), k.tidy(name, path.Base(dir)))
}

// directories creates a directory that all users can enter, and its missing parents.
func (k *Keeper) directories(dir string) error {
	there, err := host.Exists(k.Files, dir)
	if err != nil || there {
		return err
	}
	up, _ := host.SplitPath(dir)
	if up != dir {
		if err := k.directories(up); err != nil {
			return err
		}
	}
	if err := k.Files.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot create the directory %s: %w", dir, err)
	}
	return k.Files.SyncDir(up)
}

// fill creates a new file. At no time does it have more permissions than mode.
func (k *Keeper) fill(file string, text []byte, mode uint32) error {
	f, err := k.Files.Create(file)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return nil
}

// replace replaces a file that all users can read.
func (k *Keeper) replace(name string, text []byte) error {
	file := path.Join(k.Dir, name)
	temp := path.Join(k.Dir, "."+name+".new")
	if err := k.Files.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s, a leftover of a crash: %w", temp, err)
	}
	if err := k.fill(temp, text, 0o644); err != nil {
		return err
	}
	if err := k.Files.Rename(temp, file); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return k.Files.SyncDir(k.Dir)
}

// point makes the symbolic link of a name point to a directory.
func (k *Keeper) point(name, directory string) error {
	link, temp := path.Join(k.Dir, name), path.Join(k.Dir, "."+name+".new")
	if err := k.Files.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s, a leftover of a crash: %w", temp, err)
	}
	if err := k.Files.Symlink(directory, temp); err != nil {
		return fmt.Errorf("cannot create %s: %w", link, err)
	}
	if err := k.Files.Rename(temp, link); err != nil {
		return fmt.Errorf("cannot create %s: %w", link, err)
	}
	return k.Files.SyncDir(k.Dir)
}

// tidy removes the unused directories of a name.
func (k *Keeper) tidy(name, used string) error {
	entries, err := k.Files.ReadDir(k.Dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		serial, ours := strings.CutPrefix(e, "."+name+".")
		if !ours || e == used || serial == "new" || strings.Trim(serial, "0123456789abcdef") != "" {
			continue
		}
		files, err := k.Files.ReadDir(path.Join(k.Dir, e))
		errs = append(errs, err)
		for _, f := range files {
			errs = append(errs, k.Files.Remove(path.Join(k.Dir, e, f)))
		}
		errs = append(errs, k.Files.Remove(path.Join(k.Dir, e)))
	}
	return errors.Join(errs...)
}
