package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/smallfile"
)

// Load writes the state of a backup into the store and begins a new epoch. If it is interrupted, it
// starts again from the beginning. The hub serves no requests before Load has returned.
func (s *Saver) Load(ctx context.Context) error {
	file := path.Join(s.Dir, restoreFile)
	text, err := smallfile.Read(s.Files, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var state document.HubState
	if err := json.Unmarshal(text, &state); err != nil {
		return fmt.Errorf("cannot read %s: %w", file, err)
	}
	newer, err := s.hasNewer(ctx, state)
	if err != nil {
		return err // the file stays for the next start
	}
	if newer {
		return s.loaded(file)
	}
	for _, bucket := range records.Saved() {
		for _, key := range slices.Sorted(maps.Keys(state.Buckets[bucket])) {
			value := []byte(state.Buckets[bucket][key])
			if bucket == "settings" && key == "rule/"+records.EpochKey {
				if value, err = s.nextRule(value); err != nil {
					return err
				}
			}
			if _, err := s.Records.Buckets[bucket].Put(ctx, key, value); err != nil {
				return fmt.Errorf("cannot restore the bucket %s: %w", bucket, err)
			}
		}
	}
	if s.ExternalNats {
		if err := s.Records.Buckets["settings"].Delete(ctx, loadingKey, 0); err != nil {
			return err
		}
	}
	return s.loaded(file)
}

// loaded removes the file of the state after it was loaded.
func (s *Saver) loaded(file string) error {
	if err := s.Files.Remove(file); err != nil {
		return err
	}
	return s.Files.SyncDir(s.Dir)
}

// loadingKey is the key of the mark that a backup is being loaded.
const loadingKey = "backup/loading"

// hasNewer reports whether an external NATS cluster still has the state of the fleet, so that only
// the directory must be restored. Before it returns false it stores a mark: after an interruption,
// a partly loaded state does not count as newer.
func (s *Saver) hasNewer(ctx context.Context, state document.HubState) (bool, error) {
	if !s.ExternalNats {
		return false, nil
	}
	settings := s.Records.Buckets["settings"]
	_, err := settings.Get(ctx, loadingKey)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, fleet.ErrNotFound) {
		return false, err
	}
	_, err = settings.Get(ctx, "rule/"+records.EpochKey)
	if err == nil {
		s.Warn("the NATS cluster still has the state of this fleet, so only the directory was restored")
		return true, nil
	}
	if errors.Is(err, fleet.ErrNotFound) {
		_, err = settings.Put(ctx, loadingKey, []byte(strconv.FormatInt(state.At, 10)))
	}
	return false, err
}

// nextRule returns the first rule after a restore. Its epoch is above the epoch of the backup and
// at least the current time in seconds, as for a new store.
func (s *Saver) nextRule(value []byte) ([]byte, error) {
	var was records.Epoch
	if err := json.Unmarshal(value, &was); err != nil {
		return nil, fmt.Errorf("cannot read the epoch of the backup: %w", err)
	}
	now := s.Now().Unix()
	return json.Marshal(records.Epoch{Number: max(was.Number+1, uint64(max(now, 1))), Begun: now, Restored: now,
		Why: "the store was restored from a backup"})
}
