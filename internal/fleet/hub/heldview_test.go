package hub_test

import (
	"fmt"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// heldEverywhere checks that all views show the same text for the held content of the module web, and returns it. id
// is the rollout of this content.
func (w *world) heldEverywhere(id, target string, ofFleet bool) string {
	w.t.Helper()
	return until(w.t, "all views show the held content", func() (string, bool) {
		var alarms document.AlarmPage
		w.ask("GET", "/v1/alarms", nil, &alarms)
		texts := map[string]string{"alarm": "", "list": "", "show": "", "target": "", "module": ""}
		for _, a := range alarms.Alarms {
			if a.Held != nil && slices.Contains(a.Held.Parts, "modules/web") {
				texts["alarm"] = a.Held.Text
			}
		}
		var list document.RolloutPage
		w.ask("GET", "/v1/rollouts", nil, &list)
		for _, r := range list.Rollouts {
			if r.HeldContent != nil && r.ID == id {
				texts["list"] = r.HeldContent.Text
			}
		}
		var one document.RolloutDetail
		if w.ask("GET", "/v1/rollouts/"+id, nil, &one); one.Rollout.HeldContent != nil {
			texts["show"] = one.Rollout.HeldContent.Text
		}
		var on document.TargetDetail
		w.ask("GET", "/v1/targets/"+target, nil, &on)
		texts["target"] = textOf(on.Held)
		var m document.ModuleDetail
		w.ask("GET", "/v1/modules/web", nil, &m)
		texts["module"] = textOf(m.Held)
		if ofFleet {
			var back document.FleetRollbackPage
			w.ask("GET", "/v1/rollbacks", nil, &back)
			for _, r := range back.Rollbacks {
				texts["rollbacks"] = r.State
			}
		}
		return fmt.Sprint(texts["alarm"], texts), texts["alarm"] != "" && same(texts)
	})
}

func textOf(all []fleet.HeldContent) string {
	for _, h := range all {
		if slices.Contains(h.Parts, "modules/web") {
			return h.Text
		}
	}
	return ""
}

func same(texts map[string]string) bool {
	for _, t := range texts {
		if t != texts["alarm"] {
			return false
		}
	}
	return true
}

// The text of held content names short commits.
func TestHeldText(t *testing.T) {
	for want, h := range map[string]fleet.HeldContent{
		"held: HEAD 0123456789ab, stable fedcba987654":    fleet.NewHeldContent(nil, "0123456789abcdef", "fedcba9876543210"),
		"held: HEAD 0123456789ab, without stable content": fleet.NewHeldContent(nil, "0123456789abcdef", ""),
	} {
		if h.Text != want {
			t.Errorf("%s, want %s", h.Text, want)
		}
	}
}
