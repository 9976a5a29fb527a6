package hub_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub"
)

// A lost hub is restored from an old backup: enrolled targets and users still exist, and agents
// with newer assignments than the backup get generations that were never used.
func TestOldBackup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	module := func(text string) map[string]string {
		return map[string]string{"fettle.hcl": "target_group \"all\" {\n  labels = {}\n  modules = [\"web\"]\n}\n",
			"modules/web/module.hcl": "file \"/etc/motd\" { content = \"" + text + "\" }\n"}
	}
	w.commit(module("one"))
	w.birth()
	dir := filepath.Join(w.dir, "hub")
	if err := os.Mkdir(filepath.Join(dir, "notify"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notify", "page"), []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.start()
	w.ask("POST", "/v1/users", document.UserRequest{Name: "ann", Roles: []string{"read"}}, &document.Done{})
	var tok document.NewToken
	w.ask("POST", "/v1/tokens", document.TokenRequest{}, &tok)
	id, link := w.agent("web1", tok.Secret)
	have := fleet.Have{}
	newer := func() fleet.Assignment {
		a := until(t, "a newer assignment", func() (fleet.Assignment, bool) {
			body, _ := json.Marshal(have)
			envelope, err := link.Ask(t.Context(), fleet.MessageAssignment, body)
			if err != nil || len(envelope) == 0 {
				return fleet.Assignment{}, false
			}
			a, err := fleet.OpenAssignment(envelope, id.Keys(nil, time.Now(), time.Time{}))
			return a, err == nil
		})
		have = fleet.Have{Epoch: a.Epoch, Generation: a.Generation}
		return a
	}
	newer()
	var state document.HubState
	w.ask("POST", "/v1/backup", document.ReasonRequest{}, &state)
	var saved bytes.Buffer
	if err := hub.WriteBackup(w.host, dir, state, &saved); err != nil {
		t.Fatal(err)
	}
	w.commit(module("two"))
	ahead := newer()
	w.stop()

	if _, err := hub.Restore(w.host, dir, bytes.NewReader(saved.Bytes())); err == nil {
		t.Fatal("a hub that is there is written over")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if set, err := hub.Restore(w.host, dir, bytes.NewReader(saved.Bytes())); err != nil || set.Name != "hub1" {
		t.Fatalf("%+v, %v", set, err)
	}
	w.start()
	if b := newer(); b.Epoch <= ahead.Epoch || b.Modules[0].Bundle != ahead.Modules[0].Bundle {
		t.Errorf("%d.%d after %d.%d", b.Epoch, b.Generation, ahead.Epoch, ahead.Generation)
	}
	var users document.UserPage
	w.ask("GET", "/v1/users", nil, &users)
	if len(users.Users) != 1 || users.Users[0].Name != "ann" {
		t.Errorf("%+v", users)
	}
	if st, err := os.Stat(filepath.Join(dir, "notify", "page")); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", st, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "restore.json")); err == nil {
		t.Error("what was restored is restored again at the next start")
	}
	var check document.HubCheck
	w.ask("GET", "/v1/check", nil, &check)
	backup := func() (d document.HubFinding) {
		var check document.HubCheck
		w.ask("GET", "/v1/check", nil, &check)
		for _, d = range check.Checks {
			if d.Name == "backup" {
				return d
			}
		}
		t.Fatal("hub check does not look at the backup")
		return d
	}
	// A state that was not stored does not count as a backup.
	if b := backup(); b.Well || b.Text != "there is no backup" {
		t.Errorf("%+v", b)
	}
	w.ask("POST", "/v1/backup/saved", document.BackupSaved{At: state.At}, &document.Done{})
	if b := backup(); !b.Well || b.Hint != "" {
		t.Errorf("%+v", b)
	}
	if err := socketClient(filepath.Join(w.dir, "hub.sock")).do(t.Context(), "POST", "/v1/backup/saved",
		document.BackupSaved{At: time.Now().Add(time.Hour).UnixNano()}, nil); err == nil {
		t.Error("a backup of a time to come is recorded")
	}
	if len(check.Checks) < 5 || check.Checks[0].Name != "bus" || !check.Checks[0].Well {
		t.Errorf("%+v", check)
	}
}

// A backup with a path outside of the directory is refused.
func TestEvilBackup(t *testing.T) {
	w := newWorld(t)
	for want, text := range map[string]string{
		"the format":            `{"format":"fettle.hubbackup/9"}`,
		"cannot read":           `{"surprise":1}`,
		"no hub has one":        `{"format":"fettle.hubbackup/1","state":{"format":"fettle.hubstate/1"},"files":{"../x":{}}}`,
		"does not contain it":   `{"format":"fettle.hubbackup/1","state":{"format":"fettle.hubstate/1"},"files":{"keys/a":{}}}`,
		"no hub has one there":  `{"format":"fettle.hubbackup/1","state":{"format":"fettle.hubstate/1"},"files":{"bus/a":{}}}`,
		"file \"keys/.hidden\"": `{"format":"fettle.hubbackup/1","state":{"format":"fettle.hubstate/1"},"files":{"keys/.hidden":{}}}`,
	} {
		if _, err := hub.Restore(w.host, filepath.Join(w.dir, "h"), strings.NewReader(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
