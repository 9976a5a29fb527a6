package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor/rundoc"
	"fettle.dev/fettle/internal/fleet/access"
)

// TestSecretsOfHosts: a reader gets the runs and the drift of a host. Differences of content, and plans of rollbacks,
// need the right operate, and the audit log has who read them.
func TestSecretsOfHosts(t *testing.T) {
	const drift, plan, runs = "/v1/targets/web1/drift", "/v1/targets/web1/runs/3/rollback", "/v1/targets/web1/runs"
	for _, c := range []struct {
		path, right string
		status      int
		acts        int
	}{{runs, "read", 200, 0}, {drift, "read", 200, 0}, {drift + "?diff=true", "read", 403, 1},
		{drift + "?diff=true", "operate", 200, 2}, {plan, "read", 403, 0}, {plan, "operate", 200, 2},
		{plan + "?diff=true", "operate", 200, 2}, {runs + "?limit=-1", "read", 400, 0},
		{"/v1/targets/db1/drift", "operate", 409, 0}, {"/v1/targets/nobody/runs", "operate", 404, 0}} {
		hub := newHub(t)
		w := ask(hub.Handler(), "GET", c.path, c.right, "")
		if w.Code != c.status || len(hub.Acts()) != c.acts {
			t.Errorf("%s with the right %s: %d %s, audited %q", c.path, c.right, w.Code, w.Body, hub.Acts())
		}
		if diffs := strings.Contains(w.Body.String(), "Hello"); diffs != (w.Code == 200 && strings.Contains(c.path, "diff")) {
			t.Errorf("%s: %s", c.path, w.Body)
		}
	}
}

// TestRunOfATarget: a reader gets a run. Differences of content need the right operate, and the audit log has who read
// them.
func TestRunOfATarget(t *testing.T) {
	hub := newHub(t)
	const at = "/v1/targets/web1/runs/4"
	w := ask(hub.Handler(), "GET", at, "read", "")
	var d rundoc.Run
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != http.StatusOK || d.Format != rundoc.RunFormat ||
		d.Info.Run != 4 || d.Plan.Changes[0].Diff != "" || d.Plan.Changes[0].Took != 5e6 {
		t.Errorf("%d %s %v", w.Code, w.Body, err)
	}
	if acts := hub.Acts(); len(acts) > 0 {
		t.Errorf("a read is audited: %v", acts)
	}
	if w := ask(hub.Handler(), "GET", at+"?diff=true", "read", ""); w.Code != http.StatusForbidden ||
		!strings.Contains(w.Body.String(), "operate") {
		t.Errorf("a reader reads content: %d %s", w.Code, w.Body)
	}
	if w := ask(hub.Handler(), "GET", at+"?diff=true", "operate", ""); w.Code != 200 || !strings.Contains(w.Body.String(),
		"Hello") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	const name = "GET /v1/targets/{target}/runs/{run} web1 "
	if acts, want := hub.Acts(), []string{name + access.Denied, name + access.Begun, name + access.Done}; !slices.Equal(
		acts, want) {
		t.Errorf("the audit log is %q, want %q", acts, want)
	}
	for path, status := range map[string]int{"/v1/targets/web1/runs/9": 404, "/v1/targets/web1/runs/x": 400,
		"/v1/targets/db1/runs/4": 409, "/v1/targets/nobody/runs/4": 404, at + "?diff=true&x=1": 400} {
		if w := ask(hub.Handler(), "GET", path, "operate", ""); w.Code != status {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, status)
		}
	}
	h := hub.Handler()
	h.Audit = nil
	if w := ask(h, "GET", at+"?diff=true", "operate", ""); w.Code != 503 || strings.Contains(w.Body.String(), "Hello") {
		t.Errorf("without an audit log: %d %s", w.Code, w.Body)
	}
}
