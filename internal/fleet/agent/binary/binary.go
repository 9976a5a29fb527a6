// Package binary replaces the binary of a running agent, and returns to the previous one if the new
// one does not reach a hub.
//
//	f := binary.Directory{Files: files, Dir: "/program"}
//	err := f.Install(build, r)                  // the file, verified, durable and not yet used
//	err = f.Change(func(k binary.Kept) binary.Kept { return k.Begin(build, within) })
//	k, choice := binary.Decide(kept, self)     // the next start
//
// The boot and the service manager always start the binary of the package. It reads the stored
// choice and executes the chosen binary. A new binary starts on trial, as a child process of the
// old one. If it does not confirm in time that it reached a hub, the old binary stops it and
// continues. So even if the new binary does not work, the old one can still decide. The number of
// starts is durable before each start.
//
// The directory contains
//
//	state.json   Kept
//	HEX          binaries, by their SHA-256
package binary

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Format is the version of the format of Kept.
const Format = "fettle.agent.program/1"

// Directory is the directory of the downloaded binaries. Only one process may use it at a time: the
// binary on trial or the process that supervises it.
type Directory struct {
	Files host.FS
	Dir   string
}

func (f Directory) state() string { return path.Join(f.Dir, "state.json") }

// Name returns the name of the file of a binary in the directory.
func Name(b Build) string { return strings.TrimPrefix(b.Digest, "sha256:") }

func (f Directory) file(b Build) string { return path.Join(f.Dir, Name(b)) }

// Load reads the stored state; the zero value if there is none. A state with a newer format is an
// error, and remains unchanged.
func (f Directory) Load() (Kept, error) {
	var k Kept
	text, err := smallfile.Read(f.Files, f.state())
	if errors.Is(err, fs.ErrNotExist) {
		return Kept{Format: Format}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil && k.Format != Format {
		err = fmt.Errorf("it has the format %.40q, and this version of fettle reads only %s", k.Format, Format)
	}
	if err != nil {
		return Kept{}, fmt.Errorf("cannot read the chosen version of the agent: %w", err)
	}
	return k, nil
}

// Save stores the state durably.
func (f Directory) Save(k Kept) error {
	text, err := json.Marshal(k)
	if err == nil {
		err = smallfile.Directory(f.Files, f.Dir)
	}
	if err == nil {
		err = smallfile.Write(f.Files, f.state(), text)
	}
	if err != nil {
		return fmt.Errorf("cannot store the chosen version of the agent: %w", err)
	}
	return nil
}

// Change loads the state, applies change, and saves the result if it differs.
func (f Directory) Change(change func(Kept) Kept) error {
	was, err := f.Load()
	if err != nil {
		return err
	}
	is := change(was)
	if f.Same(was, is) {
		return nil
	}
	return f.Save(is)
}

// Same reports whether two states are equal.
func (Directory) Same(a, b Kept) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// Install copies a binary into the directory and makes it durable. If the digest of the content is
// not the digest of b, Install returns an error and stores nothing.
func (f Directory) Install(b Build, r io.Reader) error {
	if err := smallfile.Directory(f.Files, f.Dir); err != nil {
		return err
	}
	temp := f.file(b) + ".new"
	if err := f.Files.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := f.fill(temp, b, r)
	if err == nil {
		err = errors.Join(f.Files.Rename(temp, f.file(b)), f.Files.SyncDir(f.Dir))
	}
	if err != nil {
		_ = f.Files.Remove(temp)
		return fmt.Errorf("cannot install version %s of the agent: %w", b.Version, err)
	}
	return nil
}

func (f Directory) fill(temp string, b Build, r io.Reader) error {
	to, err := f.Files.Create(temp)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, sum), r)
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); err == nil && got != b.Digest {
		err = fmt.Errorf("its digest is %s", got)
	}
	if err == nil {
		err = to.Chmod(0o700)
	}
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// Verify reads a stored binary and checks its digest.
func (f Directory) Verify(b Build) error {
	file, err := f.Files.Open(f.file(b))
	if err != nil {
		return fmt.Errorf("cannot start version %s of the agent: %w", b.Version, err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("cannot read the binary of version %s of the agent: %w", b.Version, err)
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != b.Digest {
		return fmt.Errorf("cannot start version %s of the agent: its binary is damaged", b.Version)
	}
	return nil
}

// Clean removes binaries that are neither chosen nor on trial.
func (f Directory) Clean(k Kept) error {
	keep := map[string]bool{"state.json": true}
	if k.Chosen != nil {
		keep[Name(*k.Chosen)] = true
	}
	if k.Trial != nil {
		keep[Name(k.Trial.Build)] = true
	}
	names, err := f.Files.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, name := range names {
		if !keep[name] {
			err = errors.Join(err, f.Files.Remove(path.Join(f.Dir, name)))
		}
	}
	return err
}
