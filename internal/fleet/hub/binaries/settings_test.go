package binaries_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
)

// binary stores a binary for a version.
func (w *world) binary(t *testing.T, version string) fleet.Binary {
	t.Helper()
	b, err := w.Content.Add(func(to io.Writer) error {
		_, err := io.WriteString(to, "binary "+version)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fleet.Binary{Version: version, Files: map[string]fleet.Bundle{"amd64": b}}
}

// set sets a version for some targets, or ends the test.
func (w *world) set(t *testing.T, by access.Principal, version string, targets []fleet.TargetID, sel ...string) {
	t.Helper()
	r := document.BinaryRequest{Select: sel, Binary: w.binary(t, version)}
	if err := w.SetBinary(t.Context(), by, r, targets); err != nil {
		t.Fatal(err)
	}
}

// versions returns the versions of all settings, the latest first.
func (w *world) versions(t *testing.T) (out []string) {
	t.Helper()
	all, err := w.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Binaries {
		out = append(out, strings.Join(s.Select, " ")+" "+s.Binary.Version)
	}
	return out
}

// TestSettings: there is one setting for each selection, and the latest is first.
func TestSettings(t *testing.T) {
	w := newWorld(t, 0)
	if got := w.versions(t); len(got) != 0 {
		t.Errorf("without a setting: %q", got)
	}
	w.set(t, ann, "1.5", nil, "web*")
	w.now = w.now.Add(time.Second)
	w.set(t, ann, "1.6", nil, "web*", "db*")
	w.now = w.now.Add(time.Second)
	w.set(t, ann, "1.7", nil, "web* db*") // one selector with a space is not two selectors
	if got, want := w.versions(t), []string{"web* db* 1.7", "web* db* 1.6", "web* 1.5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	w.now = w.now.Add(time.Second)
	w.set(t, bob, "2.0", nil, "web*")
	if got, want := w.versions(t), []string{"web* 2.0", "web* db* 1.7", "web* db* 1.6"}; !slices.Equal(got, want) {
		t.Errorf("after a repetition: %q, want %q", got, want)
	}
	all, err := w.Binaries(t.Context())
	if err != nil || all.Binaries[0].By != "bob" || all.Binaries[0].At != w.now.UnixNano() ||
		all.Binaries[0].ID == "" {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestSettingsOfOneMoment: the order of settings of the same time does not change.
func TestSettingsOfOneMoment(t *testing.T) {
	w := newWorld(t, 0)
	for _, sel := range []string{"a", "b", "c", "d", "e"} {
		w.set(t, ann, "1", nil, sel)
	}
	all, err := w.Binaries(t.Context())
	if err != nil || len(all.Binaries) != 5 ||
		!slices.IsSortedFunc(all.Binaries, func(a, b document.BinarySetting) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestStoredSetting: the setting has its targets, sorted, and the log has who set it.
func TestStoredSetting(t *testing.T) {
	w := newWorld(t, 0)
	w.set(t, ann, "1.5", []fleet.TargetID{"c", "a", "b"}, "web*", "db*")
	all := w.Records.Binaries.Values()
	if len(all) != 1 || !slices.Equal(all[0].Targets, []fleet.TargetID{"a", "b", "c"}) || all[0].By != "ann" ||
		all[0].Binary.Version != "1.5" {
		t.Errorf("%+v", all)
	}
	var e fleet.HubEvent
	logged := w.log.Records()
	if len(logged) != 1 || json.Unmarshal(logged[0], &e) != nil || e.Kind != fleet.BinarySet || e.By != "ann" ||
		e.Text != "1.5 for 3 agents, -t web* -t db*" {
		t.Errorf("events: %s", logged)
	}
}

// TestMissingBinary: each architecture must have been uploaded, with its size. Otherwise nothing is set.
func TestMissingBinary(t *testing.T) {
	w := newWorld(t, 0)
	has := w.binary(t, "1.5").Files["amd64"]
	short := has
	short.Size--
	for arch, b := range map[string]fleet.Bundle{
		"arm64": {Digest: "sha256:" + strings.Repeat("a", 64), Size: 7}, "riscv64": short,
	} {
		err := w.SetBinary(t.Context(), ann, document.BinaryRequest{Select: []string{"*"},
			Binary: fleet.Binary{Version: "1.5", Files: map[string]fleet.Bundle{"amd64": has, arch: b}}}, nil)
		var r *api.Refusal
		if !errors.As(err, &r) || r.Status != api.Conflict || !strings.Contains(r.Why, arch) ||
			!strings.Contains(r.Hint, "fettle agent upgrade --binary") {
			t.Errorf("%s: %v", arch, err)
		}
	}
	if got := w.versions(t); len(got) != 0 || len(w.log.Records()) != 0 {
		t.Errorf("settings: %q, events: %s", got, w.log.Records())
	}
}

// TestSettingIsNotStored: without an event there is no setting, and a store that fails is an error.
func TestSettingIsNotStored(t *testing.T) {
	w := newWorld(t, 0)
	r := document.BinaryRequest{Select: []string{"*"}, Binary: w.binary(t, "1.5")}
	broken := errors.New("no quorum")
	w.log.Break(broken)
	if err := w.SetBinary(t.Context(), ann, r, nil); !errors.Is(err, broken) || len(w.versions(t)) != 0 {
		t.Errorf("a log that fails: %v, settings: %q", err, w.versions(t))
	}
	w.log.Break(nil)
	w.settings.Break(broken)
	if err := w.SetBinary(t.Context(), ann, r, nil); !errors.Is(err, broken) || len(w.versions(t)) != 0 {
		t.Errorf("a store that fails: %v, settings: %q", err, w.versions(t))
	}
}

// TestSettingOfAnotherHub: a setting that another hub has replaced meanwhile is not overwritten.
func TestSettingOfAnotherHub(t *testing.T) {
	w := newWorld(t, 0)
	w.set(t, ann, "1.5", nil, "*")
	all, err := w.settings.All(t.Context())
	if err == nil {
		_, err = w.settings.Put(t.Context(), all[0].Key, []byte(`{"key":"other"}`))
	}
	if err != nil {
		t.Fatal(err)
	}
	r := document.BinaryRequest{Select: []string{"*"}, Binary: w.binary(t, "1.6")}
	if err := w.SetBinary(t.Context(), ann, r, nil); !errors.Is(err, fleet.ErrConflict) {
		t.Errorf("%v", err)
	}
}
