package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/members"
	"fettle.dev/fettle/internal/fleet/hub/notices"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// BackupFormat is the only format of backups that Restore reads and WriteBackup writes.
const BackupFormat = "fettle.hubbackup/1"

// Backup contains everything that a hub cannot create again: keys, settings and the state that hubs
// share. It contains the private key of the fleet CA and must be kept as secret as that key.
//
// Assignments, reports, content and views are not included. Hubs create them again from the
// repository and from the reports of agents.
type Backup struct {
	Format string            `json:"format"`
	Files  map[string]File   `json:"files"` // by their path in the directory of the hub
	State  document.HubState `json:"state"`
}

// File is a file of the directory of a hub.
type File struct {
	Data       []byte `json:"data"`
	Executable bool   `json:"program,omitempty"`
}

// lastBackup is the key of the time of the last backup.
const lastBackup = "backup/last"

// SaveState returns the state that hubs share. Hubs may change it at the same time: each entry is
// consistent, but two entries may be from different moments.
func (h *Hub) SaveState(ctx context.Context, _ access.Principal) (document.HubState, error) {
	now := h.now().UnixNano()
	d := document.HubState{Format: document.HubStateFormat, Fleet: h.set.Fleet, Hub: h.set.Name, At: now, Buckets: map[string]map[string]string{}}
	for _, name := range records.Saved() {
		all, err := h.records.Buckets[name].All(ctx)
		if err != nil {
			return d, err
		}
		d.Buckets[name] = map[string]string{}
		for _, e := range all {
			if !utf8.Valid(e.Value) {
				return d, fmt.Errorf("cannot save the entry %s of the bucket %s: it is not UTF-8 text", e.Key, name)
			}
			d.Buckets[name][e.Key] = string(e.Value)
		}
	}
	return d, nil
}

// BackupSaved records that a backup was stored. The argument at is the time in the state that
// SaveState returned, in ns since 1970. A backup counts only when it is stored.
func (h *Hub) BackupSaved(ctx context.Context, by access.Principal, at int64) error {
	if at <= 0 || at > h.now().UnixNano() {
		return &api.Refusal{Status: http.StatusBadRequest, Why: "cannot record a backup with a time in the future",
			Hint: "Use the time in the backup"}
	}
	text, err := json.Marshal(at)
	if err == nil {
		_, err = h.records.Buckets["settings"].Put(ctx, lastBackup, text)
	}
	return errors.Join(err, h.events.Record(ctx, fleet.HubEvent{Kind: fleet.BackupMade, By: by.Name, Text: "a backup"}))
}

// restoreFile contains the state of a backup until the restored hub has loaded it into its store.
const restoreFile = "restore.json"

// WriteBackup writes a backup of the directory dir of a hub and of its state from SaveState.
func WriteBackup(files host.FS, dir string, state document.HubState, out io.Writer) error {
	b := Backup{Format: BackupFormat, Files: map[string]File{}, State: state}
	set, err := ReadSettings(files, dir)
	if err != nil {
		return err
	}
	if set.Fleet != state.Fleet || set.Name != state.Hub {
		return fmt.Errorf("cannot save %s: the state is from another hub, %s of the fleet %s. Ask the hub of this directory for its state", dir, state.Hub, state.Fleet)
	}
	for _, directory := range []string{"", "authority", "keys", notices.Directory} {
		if err := b.add(files, dir, directory); err != nil {
			return fmt.Errorf("cannot save %s: %w", path.Join(dir, directory), err)
		}
	}
	return json.NewEncoder(out).Encode(b)
}

// add adds the files of one directory. It omits files that a hub creates again and files that are
// too large to be settings.
func (b *Backup) add(files host.FS, dir, directory string) error {
	names, err := files.ReadDir(path.Join(dir, directory))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		at := path.Join(directory, name)
		st, err := files.Lstat(path.Join(dir, at))
		if err != nil {
			return err
		}
		if st.Type != image.Regular || st.Size > smallfile.Max || !isSaved(at) {
			continue
		}
		text, err := smallfile.Read(files, path.Join(dir, at))
		if err != nil {
			return err
		}
		b.Files[at] = File{text, st.Mode&0o100 != 0}
	}
	return nil
}

// isSaved reports whether a backup contains a file of the directory. The cache of other hubs is
// omitted, because a restored hub starts alone. It also starts a new audit.log.
func isSaved(name string) bool {
	return !strings.HasPrefix(name, "view.db") && !strings.HasSuffix(name, ".new") &&
		!slices.Contains([]string{restoreFile, members.CacheFile, members.RetiredFile, "audit.log"}, name)
}

// Restore creates the directory of a hub from a backup. It returns ErrExists if dir already
// contains a hub. When the hub starts, it begins an epoch above all earlier ones, so that no
// generation is used twice, even if the backup is old.
func Restore(files host.FS, dir string, in io.Reader) (Settings, error) {
	var b Backup
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return Settings{}, fmt.Errorf("cannot read the backup: %w", err)
	}
	if b.Format != BackupFormat || b.State.Format != document.HubStateFormat {
		return Settings{}, fmt.Errorf("cannot read a backup of the format %.40q: this version of fettle reads %s", b.Format, BackupFormat)
	}
	there, err := host.Exists(files, path.Join(dir, "hub.json"))
	if err != nil {
		return Settings{}, err
	}
	if there {
		return Settings{}, fmt.Errorf("cannot restore a hub in %s: %w", dir, ErrExists)
	}
	if err := b.begin(); err != nil {
		return Settings{}, err
	}
	names := slices.Sorted(maps.Keys(b.Files))
	// hub.json is written last: a directory without it is not a hub.
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == "hub.json" }), "hub.json")
	if err := smallfile.Directory(files, dir); err != nil {
		return Settings{}, err
	}
	for _, name := range names {
		if err := b.write(files, dir, name); err != nil {
			return Settings{}, fmt.Errorf("cannot restore %s: %w", name, err)
		}
	}
	return ReadSettings(files, dir)
}

// begin prepares the backup for a hub that starts alone. The state to load becomes a file of the
// directory. Files that belong only to the saved hub are removed.
func (b *Backup) begin() error {
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		if err := checkSaved(name); err != nil {
			return err
		}
	}
	nats, err := b.keepsOnNats()
	if err != nil {
		return err
	}
	alone(b.State, nats)
	state, err := json.Marshal(b.State)
	if err != nil {
		return err
	}
	maps.DeleteFunc(b.Files, func(name string, _ File) bool { return !isSaved(name) }) // older versions saved more files
	b.Files[restoreFile] = File{Data: state}
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

// load writes the state of a backup into the store and begins a new epoch. If it is interrupted, it
// starts again from the beginning. The hub serves no requests before load has returned.
func (h *Hub) load(ctx context.Context) error {
	file := h.dir(restoreFile)
	text, err := smallfile.Read(h.conf.Files, file)
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
	if newer, err := h.hasNewer(ctx, state); err != nil || newer {
		return errors.Join(err, h.loaded(file))
	}
	for _, bucket := range records.Saved() {
		for _, key := range slices.Sorted(maps.Keys(state.Buckets[bucket])) {
			value := []byte(state.Buckets[bucket][key])
			if bucket == "settings" && key == "rule/"+records.EpochKey {
				if value, err = h.nextRule(value); err != nil {
					return err
				}
			}
			if _, err := h.records.Buckets[bucket].Put(ctx, key, value); err != nil {
				return fmt.Errorf("cannot restore the bucket %s: %w", bucket, err)
			}
		}
	}
	if h.usesExternalNats() {
		if err := h.records.Buckets["settings"].Delete(ctx, loadingKey, 0); err != nil {
			return err
		}
	}
	return h.loaded(file)
}

// loaded removes the file of the state after it was loaded.
func (h *Hub) loaded(file string) error {
	if err := h.conf.Files.Remove(file); err != nil {
		return err
	}
	return h.conf.Files.SyncDir(h.conf.Dir)
}

// loadingKey is the key of the mark that a backup is being loaded.
const loadingKey = "backup/loading"

// hasNewer reports whether an external NATS cluster still has the state of the fleet, so that only
// the directory must be restored. Before it returns false it stores a mark: after an interruption,
// a partly loaded state does not count as newer.
func (h *Hub) hasNewer(ctx context.Context, state document.HubState) (bool, error) {
	if !h.usesExternalNats() {
		return false, nil
	}
	settings := h.records.Buckets["settings"]
	_, err := settings.Get(ctx, loadingKey)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, fleet.ErrNotFound) {
		return false, err
	}
	_, err = settings.Get(ctx, "rule/"+records.EpochKey)
	if err == nil {
		h.warn("the NATS cluster still has the state of this fleet, so only the directory was restored")
		return true, nil
	}
	if errors.Is(err, fleet.ErrNotFound) {
		_, err = settings.Put(ctx, loadingKey, []byte(strconv.FormatInt(state.At, 10)))
	}
	return false, err
}

// nextRule returns the first rule after a restore. Its epoch is above the epoch of the backup and
// at least the current time in seconds, as for a new store.
func (h *Hub) nextRule(value []byte) ([]byte, error) {
	var was records.Epoch
	if err := json.Unmarshal(value, &was); err != nil {
		return nil, fmt.Errorf("cannot read the epoch of the backup: %w", err)
	}
	now := h.now().Unix()
	return json.Marshal(records.Epoch{Number: max(was.Number+1, uint64(max(now, 1))), Begun: now,
		Why: "the store was restored from a backup"})
}

// backupAge returns the time since the last backup. Without a backup it returns fleet.ErrNotFound.
func (h *Hub) backupAge(ctx context.Context) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, records.StatusTimeout/2)
	defer stop()
	e, err := h.records.Buckets["settings"].Get(ctx, lastBackup)
	var at int64
	if err == nil {
		err = json.Unmarshal(e.Value, &at)
	}
	return h.now().Sub(time.Unix(0, at)), err
}
