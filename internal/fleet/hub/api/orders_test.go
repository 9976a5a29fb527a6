package api_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// An embedded field must not have the name of a method.
type fakeRollouts = apitest.Rollouts

// orders records the commands about rollouts, and the requested exemptions.
type orders struct {
	fakeRollouts
	told string
}

func (o *orders) OrderRollout(_ context.Context, c rollout.Command) error {
	o.told = strings.Join([]string{c.By, string(c.Action), c.Rollout, string(c.Target), c.Why, c.Gate,
		string(c.Verdict)}, "|")
	return nil
}

func (o *orders) RequestExemption(_ context.Context, by access.Principal, r document.ExemptionRequest,
	targets []fleet.TargetID) (string, error) {
	text, err := json.Marshal(targets)
	o.told = by.Name + "|exempt|" + r.Reason + "|" + string(text)
	return "x1", err
}

func (o *orders) CreateEnvironment(_ context.Context, by access.Principal, r document.EnvironmentRequest,
	targets []fleet.TargetID) (string, error) {
	text, err := json.Marshal(targets)
	modules, _ := json.Marshal(r.Modules) // strings can always be encoded
	o.told = by.Name + "|create|" + r.Name + "|" + string(text) + "|" + string(modules)
	return "It exists.", err
}

// TestOrders: the hub gets the commands about rollouts, and the targets of an exemption. A refused request has no
// effect.
func TestOrders(t *testing.T) {
	const web1, order = "aaaaaaaaaaaaaaaaaaaaaaaaaa", "/v1/rollouts/r2/order"
	const approval, verdict = "/v1/rollouts/r2/approval", "/v1/rollouts/r2/verdict"
	for _, c := range []struct {
		path, body string
		status     int
		says, told string
	}{
		{order, `{"action":"pause","reason":"x"}`, 200, "r2 is paused", "jane|pause|r2||x||"},
		{order, `{"action":"skip","target":"web1"}`, 200, "does not get", "jane|skip|r2|" + web1 + "|||"},
		{order, `{"action":"skip","target":"nobody"}`, 404, "nobody", ""},
		{order, `{"action":"approve"}`, 400, "needs the right of its own route", ""},
		{approval, `{"gate":"board","reason":"x"}`, 200, "Your approval", "jane|approve|r2||x|board|"},
		{approval, `{"gate":"board","reject":true}`, 200, "r2 is rejected", "jane|reject|r2|||board|"},
		{verdict, `{"gate":"hook","verdict":"fail","reason":"x"}`, 200, "The verdict counts", "jane|judge|r2||x|hook|fail"},
		{"/v1/exemptions", `{"select":["web1"],"reason":"x","seconds":60}`, 200, "The exemption x1",
			`jane|exempt|x|["` + web1 + `"]`},
		{"/v1/exemptions", `{"reason":"x","seconds":60}`, 200, "The exemption x1", "jane|exempt|x|null"},
		{"/v1/exemptions", `{"select":["none"],"reason":"x","seconds":60}`, 400, "there is no target with this name", ""},
		{"/v1/exemptions", `{"reason":"x","seconds":0}`, 400, "for this time", ""},
		{"/v1/exemptions", `{"seconds":60}`, 400, "without a reason", ""},
		{"/v1/environments", `{"name":"a","select":["web1"],"for_ns":1000000000,"modules":["web"]}`, 200, "It exists",
			`jane|create|a|["` + web1 + `"]|["modules/web"]`},
		{"/v1/environments", `{"name":"a","for_ns":1000000000}`, 400, "without targets", ""},
		{"/v1/environments", `{"name":"a","select":["web1"]}`, 400, "at most 30 days", ""},
	} {
		hub, got := newHub(t), &orders{}
		h := hub.Handler()
		h.Table = api.NewTable(hub)
		api.HandleRollouts(h.Table, got)
		api.HandleExemptions(h.Table, got)
		api.HandleEnvironments(h.Table, got)
		w := ask(h, "POST", c.path, "admin", c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) || got.told != c.told {
			t.Errorf("%s %s: %d %s\ntold %s, want %s", c.path, c.body, w.Code, w.Body, got.told, c.told)
		}
	}
}
