package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/backup"
	"fettle.dev/fettle/internal/fleet/smallfile"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/mem"
)

// saved writes a backup of a directory and reads it.
func saved(t *testing.T, files host.FS) *backup.Backup {
	t.Helper()
	var out bytes.Buffer
	s := stateWith("settings", map[string]string{"a": "b"})
	if err := backup.Write(files, dir, s, &out); err != nil {
		t.Fatal(err)
	}
	b, err := backup.Read(&out)
	if err != nil || b.State.Buckets["settings"]["a"] != "b" {
		t.Fatalf("%+v, %v", b, err)
	}
	return b
}

// TestFilesOfABackup: a backup has the settings, keys, secrets and programs of a hub, and no file that
// the hub creates again.
func TestFilesOfABackup(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	want := []string{"authority/authority.key", "hub.json", "keys/hub.key", "notify/page"}
	for _, name := range append(want, "view.db", "view.db-wal", "keys/hub.key.new", "restore.json", "hubs.json",
		"retired", "audit.log", "bus/jetstream", "content/a", "keys/old/hub.key") {
		write(t, files, dir+"/"+name, "text of "+name)
	}
	n, err := files.OpenNode(dir + "/notify/page")
	if err == nil {
		err = errors.Join(n.Chmod(0o700), n.Close(), files.Symlink("/etc/shadow", dir+"/keys/link"))
	}
	if err != nil {
		t.Fatal(err)
	}
	b := saved(t, files)
	if got := slices.Sorted(maps.Keys(b.Files)); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for name, f := range b.Files {
		if string(f.Data) != "text of "+name || f.Executable != (name == "notify/page") {
			t.Errorf("%s: %.40q, executable: %t", name, f.Data, f.Executable)
		}
	}
}

// TestLargeFile: a file above the maximum size is not a setting.
func TestLargeFile(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	write(t, files, dir+"/keys/huge", strings.Repeat("x", smallfile.Max+1))
	if b := saved(t, files); len(b.Files) != 0 {
		t.Errorf("%d files", len(b.Files))
	}
}

// unreadable is a file system that cannot list one directory.
type unreadable struct {
	*mem.FS
	dir string
}

var errRead = errors.New("input/output error")

func (u unreadable) ReadDir(name string) ([]string, error) {
	if name == u.dir {
		return nil, errRead
	}
	return u.FS.ReadDir(name)
}

// TestUnreadableDirectory: without all files there is no backup.
func TestUnreadableDirectory(t *testing.T) {
	for _, name := range []string{dir, dir + "/keys", dir + "/authority", dir + "/notify"} {
		files := unreadable{mem.NewFS(mem.Options{}), name}
		write(t, files, dir+"/keys/hub.key", "key")
		var out bytes.Buffer
		err := backup.Write(files, dir, stateWith("settings", nil), &out)
		wantError(t, err, "cannot save "+name)
		if !errors.Is(err, errRead) || out.Len() > 0 {
			t.Errorf("%v, %d bytes", err, out.Len())
		}
	}
}

// TestRestoredDirectory: the restored directory has the files of the backup, the state to load, and
// nothing else. hub.json is written last.
func TestRestoredDirectory(t *testing.T) {
	var order []string
	files := mem.NewFS(mem.Options{})
	counted := files.Counted(func(op, at string) error {
		if op == "rename" {
			order = append(order, at)
		}
		return nil
	})
	b := &backup.Backup{State: stateWith("settings", map[string]string{"a": "b"}), Files: map[string]backup.File{
		"hub.json": {Data: []byte("{}")}, "keys/hub.key": {Data: []byte("key")}, "view.db": {Data: []byte("old")},
		"notify/page": {Data: []byte("program"), Executable: true}}}
	if err := errors.Join(b.Check(), b.Begin(false), b.Write(counted, dir)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"hub.json": "{}", "keys/hub.key": "key", "notify/page": "program",
		"view.db": ""} {
		if got := read(t, files, dir+"/"+name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]uint32{"hub.json": 0o600, "notify/page": 0o700, "notify": 0o700} {
		if st, err := files.Lstat(dir + "/" + name); err != nil || st.Mode != want {
			t.Errorf("%s: mode %o, %v; want %o", name, st.Mode, err, want)
		}
	}
	var s document.HubState
	if err := json.Unmarshal([]byte(read(t, files, restoreFile)), &s); err != nil || s.Buckets["settings"]["a"] != "b" {
		t.Errorf("the state to load: %+v, %v", s, err)
	}
	if len(order) != 4 || !strings.Contains(order[3], "hub.json") {
		t.Errorf("the order of the files: %q", order)
	}
}

// TestInterruptedRestore: a directory that is not complete is not a hub.
func TestInterruptedRestore(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	full := errors.New("the disk is full")
	b := &backup.Backup{Files: map[string]backup.File{"hub.json": {}, "keys/hub.key": {}}}
	err := b.Write(files.Counted(func(op, at string) error {
		if strings.Contains(at, "hub.key") {
			return full
		}
		return nil
	}), dir)
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	wantError(t, err, "cannot restore keys/hub.key")
	if there, err := host.Exists(files, dir+"/hub.json"); err != nil || there {
		t.Errorf("hub.json exists: %t, %v", there, err)
	}
	delete(b.Files, "hub.json")
	wantError(t, b.Write(files, dir), "cannot restore hub.json", "does not contain it")
}

// TestRestoreAlone: a restored hub has no other members, because they are lost. Hubs with an external
// NATS cluster remain members.
func TestRestoreAlone(t *testing.T) {
	for nats, want := range map[bool][]string{
		false: {"lost/hub2", "lost/hub3", "member/hub1", "rule/epoch"},
		true:  {"member/hub1", "member/hub2", "member/hub3", "rule/epoch"},
	} {
		entries := map[string]string{"rule/epoch": "e", "member/hub1": "1", "member/hub2": "2", "member/hub3": "3"}
		b := &backup.Backup{State: stateWith("settings", entries), Files: map[string]backup.File{}}
		if err := b.Begin(nats); err != nil {
			t.Fatal(err)
		}
		got := b.State.Buckets["settings"]
		if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, want) {
			t.Errorf("external NATS %t: %q, want %q", nats, keys, want)
		}
		if !nats && (got["lost/hub2"] != "2" || got["lost/hub3"] != "3") {
			t.Errorf("records of lost hubs: %v", got)
		}
	}
	none := &backup.Backup{State: stateWith("people", nil), Files: map[string]backup.File{}}
	if err := none.Begin(false); err != nil || none.State.Buckets["settings"] != nil {
		t.Errorf("a state without settings: %v, %v", none.State.Buckets, err)
	}
}

// TestCheck: a backup has files only in the directories of a hub.
func TestCheck(t *testing.T) {
	for name, ok := range map[string]bool{
		"hub.json": true, "authority/a": true, "keys/a": true, "notify/a": true,
		"": false, "/": false, "/etc/shadow": false, "../a": false, "keys/../a": false, "keys/": false, "keys//a": false,
		"keys/.a": false, ".a": false, "bus/a": false, "keys/a/b": false,
	} {
		err := (&backup.Backup{Files: map[string]backup.File{name: {}}}).Check()
		if (err == nil) != ok {
			t.Errorf("%q: %v, want accepted: %t", name, err, ok)
		}
	}
}

// TestFormats: other formats, and unknown fields, are refused.
func TestFormats(t *testing.T) {
	for text, want := range map[string]string{
		`{"format":"fettle.hubbackup/1","state":{"format":"fettle.hubstate/1"}}`:              "",
		`{"format":"fettle.hubbackup/2","state":{"format":"fettle.hubstate/1"}}`:              `"fettle.hubbackup/2"`,
		`{"format":"fettle.hubbackup/1","state":{"format":"fettle.hubstate/2"}}`:              "cannot read a backup",
		`{"format":"fettle.hubbackup/1","state":{"format":"fettle.hubstate/1"},"surprise":1}`: "surprise",
		`{"format":`: "cannot read the backup",
	} {
		b, err := backup.Read(strings.NewReader(text))
		if want == "" && (err != nil || b == nil) {
			t.Errorf("%s: %v", text, err)
		} else if want != "" {
			wantError(t, err, want)
		}
	}
}
