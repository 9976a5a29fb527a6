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
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/image"
)

// BackupFormat is the format that this program writes and reads.
const BackupFormat = "fettle.hubbackup/1"

// Backup is all that cannot be made again: keys, settings and what hubs share. It is as
// secret as the authority's key, which is in it.
//
// Assignments, reports, content and views are not in it: they are made again of the
// repository and of what agents say.
type Backup struct {
	Format string            `json:"format"`
	Files  map[string]File   `json:"files"` // by their path in the directory
	State  document.HubState `json:"state"`
}

// File is one of the hub's directory.
type File struct {
	Data       []byte `json:"data"`
	Executable bool   `json:"program,omitempty"`
}

// savedBuckets are those that are in a backup, in the order in which they are read.
var savedBuckets = [...]string{"settings", "facts", "people", "tokens", "targets", "names", "requests", "notices"}

// lastBackup is the key of the time of the last one.
const lastBackup = "backup/last"

// SaveState gives what hubs share, while they go on. Entries are whole; two of them may be some
// moments apart.
func (h *Hub) SaveState(ctx context.Context, _ access.Who) (document.HubState, error) {
	now := h.now().UnixNano()
	d := document.HubState{Format: document.HubStateFormat, Fleet: h.set.Fleet, Hub: h.set.Name, At: now, Buckets: map[string]map[string]string{}}
	for _, name := range savedBuckets {
		all, err := h.stores[name].All(ctx)
		if err != nil {
			return d, err
		}
		d.Buckets[name] = map[string]string{}
		for _, e := range all {
			if !utf8.Valid(e.Value) {
				return d, fmt.Errorf("cannot save %s of %s: it is no text", e.Key, name)
			}
			d.Buckets[name][e.Key] = string(e.Value)
		}
	}
	return d, nil
}

// BackupSaved records a backup that is stored, of what SaveState gave at a time. Until then
// there is none: what could not be written anywhere is no backup.
func (h *Hub) BackupSaved(ctx context.Context, by access.Who, at int64) error {
	if at <= 0 || at > h.now().UnixNano() {
		return &api.Refusal{Status: http.StatusBadRequest, Why: "cannot record a backup of a time to come", Hint: "Give the time that is in the backup"}
	}
	text, err := json.Marshal(at)
	if err == nil {
		_, err = h.stores["settings"].Put(ctx, lastBackup, text)
	}
	return errors.Join(err, h.record(ctx, fleet.HubEvent{Kind: fleet.Saved, By: by.Name, Text: "a backup"}))
}

// restoreFile holds what is loaded into the store before anything else, until it is.
const restoreFile = "restore.json"

// WriteBackup writes a backup of a directory with what its hub said.
func WriteBackup(files host.FS, dir string, state document.HubState, out io.Writer) error {
	b := Backup{Format: BackupFormat, Files: map[string]File{}, State: state}
	set, err := ReadSettings(files, dir)
	if err != nil {
		return err
	}
	if set.Fleet != state.Fleet || set.Name != state.Hub {
		return fmt.Errorf("cannot save %s with what another hub says, %s of %s", dir, state.Hub, state.Fleet)
	}
	for _, directory := range []string{"", "authority", "keys", notifyDir} {
		if err := b.add(files, dir, directory); err != nil {
			return fmt.Errorf("cannot save %s: %w", path.Join(dir, directory), err)
		}
	}
	return json.NewEncoder(out).Encode(b)
}

// add takes the files of a directory in. Those that are made again, or too large to be
// settings, are left out.
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

// isSaved tells whether a file of the directory is in a backup. The hubs that this one knew
// are not: a restored hub begins alone, and waits for no other. audit.log begins anew.
func isSaved(name string) bool {
	return !strings.HasPrefix(name, "view.db") && !strings.HasSuffix(name, ".new") &&
		!slices.Contains([]string{restoreFile, peerCacheFile, retiredFile, "audit.log"}, name)
}

// Restore makes the directory of a hub of a backup, where there is none. When it is run, the
// hub begins an epoch above all that were before, so that no number is given twice however
// old the backup is.
func Restore(files host.FS, dir string, in io.Reader) (Settings, error) {
	var b Backup
	d := json.NewDecoder(in)
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		return Settings{}, fmt.Errorf("cannot read the backup: %w", err)
	}
	if b.Format != BackupFormat || b.State.Format != document.HubStateFormat {
		return Settings{}, fmt.Errorf("cannot read a backup of the format %.40q: this program knows %s", b.Format, BackupFormat)
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
	// hub.json is the last: with it there is a hub.
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

// begin makes the backup that of a hub that begins anew: what it has to load is a file of its
// directory, and what only the hub that was saved had is left out.
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
	maps.DeleteFunc(b.Files, func(name string, _ File) bool { return !isSaved(name) }) // older hubs saved more
	b.Files[restoreFile] = File{Data: state}
	return nil
}

// checkSaved refuses names that lead elsewhere.
func checkSaved(name string) error {
	directory, base := path.Split(name)
	if path.Clean(name) != name || base == "" || base[0] == '.' || !slices.Contains([]string{"", "authority/", "keys/", notifyDir + "/"}, directory) {
		return fmt.Errorf("cannot restore the file %.80q: no hub has one there", name)
	}
	return nil
}

func (b *Backup) write(files host.FS, dir, name string) error {
	f, ok := b.Files[name]
	if !ok {
		return errors.New("the backup does not have it")
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

// load brings what a backup had into the store, and begins an epoch above it. It is done
// again from the beginning when it was cut off: nobody is served before.
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
	for _, bucket := range savedBuckets {
		for _, key := range slices.Sorted(maps.Keys(state.Buckets[bucket])) {
			value := []byte(state.Buckets[bucket][key])
			if bucket == "settings" && key == "rule/"+ruleKey {
				if value, err = h.nextRule(value); err != nil {
					return err
				}
			}
			if _, err := h.stores[bucket].Put(ctx, key, value); err != nil {
				return fmt.Errorf("cannot restore what is kept of %s: %w", bucket, err)
			}
		}
	}
	if h.isForeign() {
		if err := h.stores["settings"].Delete(ctx, loadingKey, 0); err != nil {
			return err
		}
	}
	return h.loaded(file)
}

// loaded forgets what there was to load.
func (h *Hub) loaded(file string) error {
	if err := h.conf.Files.Remove(file); err != nil {
		return err
	}
	return h.conf.Files.SyncDir(h.conf.Dir)
}

// loadingKey says that a backup is being loaded.
const loadingKey = "backup/loading"

// hasNewer tells whether a NATS cluster still has what was saved from it, and more: then the
// directory alone was lost. It says so in the store before it says no, so that what was half
// loaded is not taken for more.
func (h *Hub) hasNewer(ctx context.Context, state document.HubState) (bool, error) {
	if !h.isForeign() {
		return false, nil
	}
	settings := h.stores["settings"]
	_, err := settings.Get(ctx, loadingKey)
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, fleet.ErrNotFound) {
		return false, err
	}
	_, err = settings.Get(ctx, "rule/"+ruleKey)
	if err == nil {
		h.warn("the NATS cluster has everything that this fleet keeps, so the directory alone was restored")
		return true, nil
	}
	if errors.Is(err, fleet.ErrNotFound) {
		_, err = settings.Put(ctx, loadingKey, []byte(strconv.FormatInt(state.At, 10)))
	}
	return false, err
}

// nextRule is the epoch after that of a backup. Seconds count, as for a new store.
func (h *Hub) nextRule(value []byte) ([]byte, error) {
	var was rule
	if err := json.Unmarshal(value, &was); err != nil {
		return nil, fmt.Errorf("cannot read the epoch of the backup: %w", err)
	}
	now := h.now().Unix()
	return json.Marshal(rule{Epoch: max(was.Epoch+1, uint64(max(now, 1))), Begun: now, Why: "the store was restored from a backup"})
}

// backupAge is how long ago the last backup was; the error is fleet.ErrNotFound if there is none.
func (h *Hub) backupAge(ctx context.Context) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, lookFor/2)
	defer stop()
	e, err := h.stores["settings"].Get(ctx, lastBackup)
	var at int64
	if err == nil {
		err = json.Unmarshal(e.Value, &at)
	}
	return h.now().Sub(time.Unix(0, at)), err
}
