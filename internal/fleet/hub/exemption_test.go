package hub_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// exempt asks a hub as the agent does before a reboot.
func (f *follower) exempt(t *testing.T) bool {
	t.Helper()
	body, err := f.link.Ask(t.Context(), fleet.MessageReboot, []byte(`{"action":"lock"}`))
	var slot fleet.RebootSlot
	if err == nil {
		err = json.Unmarshal(body, &slot)
	}
	if err != nil || slot.Lock != "reboots" {
		t.Errorf("%s %v", body, err)
	}
	return slot.Exempt
}

// Two users let a target change and reboot outside of its windows. One user cannot.
func TestExemptions(t *testing.T) {
	w := newWorld(t)
	files := site("one", "0s")
	files["fettle.hcl"] = strings.Replace(files["fettle.hcl"], "policy {", "policy {\n  windows = [\"never\"]\n ", 1) + `
window "never" {
  schedule = "0 0 * * *"
  duration = "31d"
  changes  = "deny"
}
lock "reboots" { reboots = true }
`
	files["fettle.hcl"] = strings.Replace(files["fettle.hcl"], `careful-test" }`, "careful-test\"\n}", 1)
	w.commit(files)
	w.birth()
	w.start()
	healthy := &atomic.Value{}
	healthy.Store("")
	f := w.follow("web1", healthy)
	one := until(t, "the first content", func() (string, bool) { return f.has(), f.has() != "" })
	for name, text := range files {
		files[name] = strings.ReplaceAll(text, "one", "two")
	}
	w.commit(files)
	var e document.Explanation
	until(t, "the window counts", func() (document.Explanation, bool) {
		w.ask("GET", "/v1/targets/web1/modules/web", nil, &e)
		return e, strings.Contains(strings.Join(e.Reasons, "\n"), `inside the window "never"`)
	})

	ctx := t.Context()
	ann, bob := w.user("ann", "operate"), w.user("bob", "approve")
	for why, r := range map[string]document.ExemptionRequest{
		"without a reason":   {Seconds: 60},
		"for this time":      {Seconds: 90000, Reason: "urgent"},
		"there is no target": {Seconds: 60, Reason: "urgent", Select: []string{"wep1"}},
	} {
		if _, err := client.Post(ctx, ann, route.RequestExemption(), r); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if _, err := client.Post(ctx, ann, route.RequestExemption(),
		document.ExemptionRequest{Select: []string{"web*"}, Seconds: 3600, Reason: "urgent"}); err != nil {
		t.Fatal(err)
	}
	page, err := client.Get(ctx, ann, route.Exemptions())
	if err != nil || len(page.Exemptions) != 1 || page.Exemptions[0].State != "waiting" {
		t.Fatalf("%+v %v", page, err)
	}
	at := route.ExemptionID{Exemption: page.Exemptions[0].ID}
	approve := func(c *client.Client, at route.ExemptionID, want string) {
		t.Helper()
		d, err := client.Call(ctx, c, route.ApproveExemption(), at, document.ReasonRequest{})
		if got := d.Text; err == nil && !strings.Contains(got, want) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	approve(ann, at, `needs the right "approve"`)
	approve(bob, route.ExemptionID{Exemption: at.Exemption + "x"}, "cannot find the exemption")
	w.alarmed("exemption_requested", "ann requests that -t web*")
	approve(bob, at, "needs the approval of another user")
	approve(bob, at, "You have approved it before")
	if got := f.has(); got != one || f.exempt(t) {
		t.Errorf("one approval was enough: %s", got)
	}
	approve(w.user("eve", "admin"), at, "may change outside of their windows")
	until(t, "the second content", func() (string, bool) { return f.has(), f.has() != one })
	w.alarmed("windows_ignored", at.Exemption)
	if !f.exempt(t) {
		t.Error("the target may not reboot")
	}
	if _, err := client.Call(ctx, ann, route.EndExemption(), at, document.ReasonRequest{Reason: "done"}); err != nil {
		t.Error(err)
	}
	if page, err = client.Get(ctx, ann, route.Exemptions()); err != nil || len(page.Exemptions) > 0 {
		t.Errorf("%+v %v", page, err)
	}
	if f.exempt(t) {
		t.Error("the target may reboot after the end")
	}
}
