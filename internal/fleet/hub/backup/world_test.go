package backup_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/backup"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

const (
	dir         = "/hub"
	restoreFile = dir + "/restore.json"
	epochKey    = "rule/" + records.EpochKey
)

// world is a hub with empty buckets.
type world struct {
	*backup.Saver
	t      *testing.T
	now    time.Time
	files  *mem.FS
	stores map[string]*bustest.Store
	log    *bustest.Log
	warned []string
}

func newWorld(t *testing.T, externalNats bool) *world {
	t.Helper()
	w := &world{t: t, now: time.Unix(1_795_000_000, 0), files: mem.NewFS(mem.Options{}), log: bustest.NewLog(),
		stores: map[string]*bustest.Store{}}
	warn := func(text string) { w.warned = append(w.warned, text) }
	now := func() time.Time { return w.now }
	table := &records.Table{}
	err := table.Open(t.Context(), func(_ context.Context, name string) (fleet.Store, error) {
		w.stores[name] = bustest.NewStore()
		return w.stores[name], nil
	}, records.Options{})
	if err == nil {
		err = smallfile.Directory(w.files, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.Saver = backup.New(backup.Config{Hub: "hub1", Fleet: "acme", Files: w.files, Dir: dir, ExternalNats: externalNats,
		Now: now, Warn: warn, Records: table, Events: events.Recorder{Hub: "hub1", Log: w.log, Now: now, Warn: warn}})
	return w
}

func (w *world) put(bucket, key, value string) {
	w.t.Helper()
	if _, err := w.stores[bucket].Put(w.t.Context(), key, []byte(value)); err != nil {
		w.t.Fatal(err)
	}
}

// get returns an entry, or "" if it does not exist.
func (w *world) get(bucket, key string) string {
	w.t.Helper()
	e, err := w.stores[bucket].Get(w.t.Context(), key)
	if err != nil && !errors.Is(err, fleet.ErrNotFound) {
		w.t.Fatal(err)
	}
	return string(e.Value)
}

func (w *world) epoch() (e records.Epoch) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.get("settings", epochKey)), &e); err != nil {
		w.t.Fatal(err)
	}
	return e
}

// restores gives the hub the state of a backup to load.
func (w *world) restores(s document.HubState) {
	w.t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		w.t.Fatal(err)
	}
	write(w.t, w.files, restoreFile, string(text))
}

// stateWith returns the state of a backup with one bucket.
func stateWith(bucket string, entries map[string]string) document.HubState {
	return document.HubState{Format: document.HubStateFormat, Fleet: "acme", Hub: "hub1", At: 1,
		Buckets: map[string]map[string]string{bucket: entries}}
}

func write(t *testing.T, files host.FS, name, text string) {
	t.Helper()
	at, _ := host.SplitPath(name)
	err := smallfile.Directory(files, at)
	if err == nil {
		err = smallfile.Write(files, name, []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the content of a file, or "" if it does not exist.
func read(t *testing.T, files host.FS, name string) string {
	t.Helper()
	text, err := smallfile.Read(files, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return string(text)
}

// wantError checks that an error has all parts.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%v, want %q", err, part)
		}
	}
}
