package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/backup"
	"fettle.dev/fettle/internal/host"
)

// WriteBackup writes a backup of the directory dir of a hub and of its state from SaveState.
func WriteBackup(files host.FS, dir string, state document.HubState, out io.Writer) error {
	set, err := ReadSettings(files, dir)
	if err != nil {
		return err
	}
	if set.Fleet != state.Fleet || set.Name != state.Hub {
		return fmt.Errorf("cannot save %s: the state is from another hub, %s of the fleet %s. "+
			"Ask the hub of this directory for its state", dir, state.Hub, state.Fleet)
	}
	return backup.Write(files, dir, state, out)
}

// Restore creates the directory of a hub from a backup. It returns ErrExists if dir already
// contains a hub. When the hub starts, it begins an epoch above all earlier ones, so that no
// generation is used twice, even if the backup is old.
func Restore(files host.FS, dir string, in io.Reader) (Settings, error) {
	b, err := backup.Read(in)
	if err != nil {
		return Settings{}, err
	}
	there, err := host.Exists(files, path.Join(dir, "hub.json"))
	if err != nil {
		return Settings{}, err
	}
	if there {
		return Settings{}, fmt.Errorf("cannot restore a hub in %s: %w", dir, ErrExists)
	}
	if err := b.Check(); err != nil {
		return Settings{}, err
	}
	nats, err := keepsOnNats(b)
	if err != nil {
		return Settings{}, err
	}
	if err := b.Begin(nats); err != nil {
		return Settings{}, err
	}
	if err := b.Write(files, dir); err != nil {
		return Settings{}, err
	}
	return ReadSettings(files, dir)
}

// keepsOnNats reports whether the hub of a backup stored its data in an external NATS cluster.
func keepsOnNats(b *backup.Backup) (bool, error) {
	var set Settings
	f, ok := b.Files["hub.json"]
	if !ok {
		return false, errors.New("cannot restore hub.json: the backup does not contain it")
	}
	err := json.Unmarshal(f.Data, &set)
	return set.Nats != nil, err
}
