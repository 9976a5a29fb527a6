package hub_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// frozen waits until the newest assignment of a target is frozen for a reason, "" for not frozen.
func (s *sharer) frozen(reason string) {
	s.t.Helper()
	have, _ := json.Marshal(fleet.Have{})
	until(s.t, "frozen: "+reason, func() (string, bool) {
		envelope, err := s.link.Ask(s.t.Context(), fleet.MessageAssignment, have)
		if err != nil || len(envelope) == 0 {
			return "no assignment", false
		}
		a, err := fleet.OpenAssignment(envelope, s.id.Keys(nil, time.Now(), time.Time{}))
		if err != nil {
			return err.Error(), false
		}
		return a.Frozen, strings.HasPrefix(a.Frozen, reason) && (a.Frozen == "") == (reason == "")
	})
}

// One record freezes the whole fleet, including targets that enrol later. It is independent of
// freezes of single targets, and both survive a restart.
func TestFreezeAll(t *testing.T) {
	w := newWorld(t)
	w.commit(map[string]string{"fettle.hcl": "target_group \"web\" { labels = {} }\n"})
	w.birth()
	w.start()
	web1 := w.sharer("web1", nil)
	web1.frozen("")
	var done document.Done
	w.ask("POST", "/v1/freeze", document.FreezeRequest{Reason: "stop"}, &done)
	web1.frozen("stop (root)")
	web2 := w.sharer("web2", nil)
	web2.frozen("stop (root)")
	w.inAudit("POST /v1/freeze", "stop")

	w.ask("POST", "/v1/targets/web2/freeze", document.FreezeRequest{Reason: "migration"}, &done)
	w.ask("POST", "/v1/targets/web1/unfreeze", document.ReasonRequest{}, &done)
	if !strings.Contains(done.Text, "the freeze of all targets remains") {
		t.Errorf("unfreezing one target of a frozen fleet: %q", done.Text)
	}
	w.ask("POST", "/v1/freeze", document.FreezeRequest{Reason: "still broken", For: int64(time.Hour)}, &done)
	w.stop()
	w.start()
	web1.frozen("still broken (root)")
	web2.frozen("still broken (root)")
	var st document.Status
	w.ask("GET", "/v1/status", nil, &st)
	if f := st.Freeze; f == nil || f.Reason != "still broken" || f.By != "root" ||
		f.Until-f.At < int64(59*time.Minute) || f.Until-f.At > int64(time.Hour) {
		t.Errorf("the status shows %+v", f)
	}

	w.ask("POST", "/v1/unfreeze", document.ReasonRequest{}, &done)
	web1.frozen("")
	web2.frozen("migration (root)")
	st = document.Status{}
	if w.ask("GET", "/v1/status", nil, &st); st.Freeze != nil {
		t.Errorf("the status shows %+v", st.Freeze)
	}

	// An expired freeze has no effect, even before a hub removes it.
	w.ask("POST", "/v1/freeze", document.FreezeRequest{Reason: "a moment", For: int64(time.Second)}, &done)
	until(t, "the end of the freeze", func() (*document.FleetFreeze, bool) {
		var st document.Status
		w.ask("GET", "/v1/status", nil, &st)
		return st.Freeze, st.Freeze == nil
	})
	web1.frozen("")
}
