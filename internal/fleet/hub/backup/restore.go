package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/notices"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
)

// Read reads a backup.
func Read(in io.Reader) (*Backup, error) {
	var b Backup
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return nil, fmt.Errorf("cannot read the backup: %w", err)
	}
	if b.Format != Format || b.State.Format != document.HubStateFormat {
		return nil, fmt.Errorf("cannot read a backup of the format %.40q: this version of fettle reads %s", b.Format, Format)
	}
	return &b, nil
}

// Check returns an error if the backup has a file outside of the directories of a hub.
func (b *Backup) Check() error {
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		if err := checkSaved(name); err != nil {
			return err
		}
	}
	return nil
}

// Begin prepares the backup for a hub that starts alone. The state to load becomes a file of the
// directory. Files that belong only to the saved hub are removed. externalNats means that an external
// NATS cluster stores the data.
func (b *Backup) Begin(externalNats bool) error {
	alone(b.State, externalNats)
	state, err := json.Marshal(b.State)
	if err != nil {
		return err
	}
	// Older versions saved more files.
	maps.DeleteFunc(b.Files, func(name string, _ File) bool { return !isSaved(name) })
	b.Files[restoreFile] = File{Data: state}
	return nil
}

// Write writes the files into the directory of a hub. hub.json is written last: a directory without
// it is not a hub.
func (b *Backup) Write(files host.FS, dir string) error {
	names := slices.Sorted(maps.Keys(b.Files))
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == "hub.json" }), "hub.json")
	if err := smallfile.Directory(files, dir); err != nil {
		return err
	}
	for _, name := range names {
		if err := b.write(files, dir, name); err != nil {
			return fmt.Errorf("cannot restore %s: %w", name, err)
		}
	}
	return nil
}

// checkSaved returns an error for a file name outside of the directories of a hub.
func checkSaved(name string) error {
	directory, base := path.Split(name)
	if path.Clean(name) != name || base == "" || base[0] == '.' ||
		!slices.Contains([]string{"", "authority/", "keys/", notices.Directory + "/"}, directory) {
		return fmt.Errorf("cannot restore the file %.80q: no hub has one there", name)
	}
	return nil
}

func (b *Backup) write(files host.FS, dir, name string) error {
	f, ok := b.Files[name]
	if !ok {
		return errors.New("the backup does not contain it")
	}
	at := path.Join(dir, name)
	if path.Dir(at) != dir {
		if err := smallfile.Directory(files, path.Dir(at)); err != nil {
			return err
		}
	}
	if err := smallfile.Write(files, at, f.Data); err != nil || !f.Executable {
		return err
	}
	n, err := files.OpenNode(at)
	if err != nil {
		return err
	}
	return errors.Join(n.Chmod(0o700), n.Close())
}
