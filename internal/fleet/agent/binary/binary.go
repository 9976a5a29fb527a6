// Package binary replaces the binary of a running agent, and returns to the previous one if the new
// one does not reach a hub.
//
//	f := binary.Directory{Files: files, Dir: "/program"}
//	err := f.Install(build, r)                  // the file, verified, durable and not yet used
//	err = f.Change(func(k binary.Kept) binary.Kept { return k.Begin(build, within) })
//	k, choice := binary.Decide(kept, self)     // the next start
//
// The program of the package is the one that is always begun, by boot or service manager.
// It looks what was chosen and becomes that. A program that is new is begun beside the one
// that runs and is looked after by it: if it does not tell in time that it has reached a
// hub, it ends, and the old one goes on. So whatever is wrong with a new program, an old
// one that worked decides about it, and how often one is begun is on the disk before.
//
// In the directory are
//
//	state.json   Kept
//	HEX          programs, by their SHA-256
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

// Format is that of Kept.
const Format = "fettle.agent.program/1"

// Directory is where programs lie. It is used by one process at a time, but that the one
// which is on trial and the one that looks after it take turns.
type Directory struct {
	Files host.FS
	Dir   string
}

func (f Directory) state() string { return path.Join(f.Dir, "state.json") }

// Name is the name of a program's file in the directory.
func Name(b Build) string { return strings.TrimPrefix(b.Digest, "sha256:") }

func (f Directory) file(b Build) string { return path.Join(f.Dir, Name(b)) }

// Load reads what is known; the zero value where nothing is. What a newer program wrote
// that this one does not know is an error: it stays what it is then.
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
		err = fmt.Errorf("it has the format %.40q, and this program knows %s", k.Format, Format)
	}
	if err != nil {
		return Kept{}, fmt.Errorf("cannot read which program was chosen: %w", err)
	}
	return k, nil
}

// Save writes it, durably.
func (f Directory) Save(k Kept) error {
	text, err := json.Marshal(k)
	if err == nil {
		err = smallfile.Directory(f.Files, f.Dir)
	}
	if err == nil {
		err = smallfile.Write(f.Files, f.state(), text)
	}
	if err != nil {
		return fmt.Errorf("cannot keep which program was chosen: %w", err)
	}
	return nil
}

// Change is Load and Save of what is made of it, if that is something else.
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

// Same tells whether there is no difference to write down.
func (Directory) Same(a, b Kept) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// Install copies a program into the directory and makes it durable. What is not what its
// digest says is an error, and nothing of it stays.
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
		return fmt.Errorf("cannot install the program %s: %w", b.Version, err)
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
		err = fmt.Errorf("it is %s", got)
	}
	if err == nil {
		err = to.Chmod(0o700)
	}
	if err == nil {
		err = to.Sync()
	}
	return errors.Join(err, to.Close())
}

// Verify reads a program and says whether it is what it was.
func (f Directory) Verify(b Build) error {
	file, err := f.Files.Open(f.file(b))
	if err != nil {
		return fmt.Errorf("cannot begin the program %s: %w", b.Version, err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return fmt.Errorf("cannot read the program %s: %w", b.Version, err)
	}
	if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != b.Digest {
		return fmt.Errorf("cannot begin the program %s: its file was damaged", b.Version)
	}
	return nil
}

// Clean removes what is neither chosen nor on trial.
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
