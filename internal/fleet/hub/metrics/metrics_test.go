package metrics_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/hub/metrics"
)

// scraped returns the output for Prometheus.
func scraped(t testing.TB, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "http://hub/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func hub(t testing.TB) (*apitest.Hub, metrics.Options) {
	t.Helper()
	h, err := apitest.New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h, metrics.Options{Views: h, Health: h.Health, Now: apitest.Now, Version: "1.0",
		Load: func() (fleet.HubLoad, bool) {
			return fleet.HubLoad{Connections: 7, CPU: 0.25, EventLag: 3, Handshakes: 2, DiskFree: 0.5}, true
		},
		Rollouts: apitest.Rollouts{}.Rollouts, Scopes: apitest.Scopes{}}
}

func Example() {
	dir, err := os.MkdirTemp("", "hub")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	h, err := apitest.New(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	m := metrics.New(metrics.Options{Views: h, Health: h.Health, Now: apitest.Now})
	m.Reports(3)
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "http://hub/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "fettle_target_states") && !strings.HasSuffix(line, " 0\n") ||
			strings.HasPrefix(line, "fettle_hub_reports_total") {
			fmt.Print(line)
		}
	}
	// Output:
	// fettle_hub_reports_total 3
	// fettle_target_states{state="failed"} 1
	// fettle_target_states{state="ready"} 1
}

func TestMetricsOfAFleet(t *testing.T) {
	_, o := hub(t)
	m := metrics.New(o)
	m.Committed(3 * time.Millisecond)
	m.Refused(metrics.RefusedConnection)
	m.Refused("whatever an agent says")
	m.Run(fleet.Event{Kind: fleet.Applied, Run: 4, Duration: int64(3 * time.Second)})
	m.Run(fleet.Event{Kind: fleet.Applied, Run: 5})
	text := scraped(t, m)
	for _, want := range []string{
		`fettle_run_seconds_bucket{le="2"} 0`, `fettle_run_seconds_bucket{le="4"} 1`, `fettle_run_seconds_count 1`,
		`fettle_targets{standing="pending"} 1`, `fettle_targets_connected 1`, `fettle_targets_unexpected 1`,
		`fettle_drift_addresses 1`, `fettle_target_info{fleet="prod",state="failed",target="web2",version="1.0"} 1`,
		`fettle_module_revision_assigned{module="modules/web",revision="bbbbbbbbbbbb"} 2`,
		`fettle_module_revision_applied{module="modules/web",revision="other"} 1`,
		`fettle_module_targets{module="modules/web",state="failed"} 1`,
		`fettle_hub_agents 7`, `fettle_hub_cpu_ratio 0.25`, `fettle_hub_event_lag 3`, `fettle_hub_handshakes_waiting 2`,
		`fettle_hub_disk_free_ratio 0.5`, `fettle_hub_up{part="bus"} 1`, `fettle_hub_info{hub="h1",version="1.0"} 1`,
		`fettle_hub_commit_seconds_count 1`,
		`fettle_rollouts{phase="active"} 1`, `fettle_rollouts{phase="paused"} 0`, `fettle_rollouts_held 1`,
		`fettle_rollout_targets{state="pending"} 1`, `fettle_rollout_targets{state="returned"} 0`,
		`fettle_scopes{verdict="failed"} 1`, `fettle_scopes{verdict="unknown"} 0`,
		`fettle_scope_verdict{scope="cluster/search",verdict="failed"} 1`, `fettle_scope_tasks{phase="waiting"} 1`,
		`fettle_scope_tasks{phase="done"} 0`, `fettle_scope_tasks_undecided 1`,
		`fettle_hub_refused_total{what="link"} 1`, `fettle_hub_view_errors 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "db1") || strings.Contains(text, "whatever") {
		t.Error("it tells too much")
	}
	for _, name := range metrics.Names() {
		if !strings.Contains(text, "# TYPE "+name+" ") {
			t.Errorf("%s is not told", name)
		}
	}
}

// TestUnknownLoad: unknown numbers of the load are missing.
func TestUnknownLoad(t *testing.T) {
	_, o := hub(t)
	unknown := fleet.HubLoad{Connections: 0, CPU: -1, EventLag: -1, Handshakes: -1, DiskFree: -1}
	for name, load := range map[string]func() (fleet.HubLoad, bool){"none": nil,
		"unknown": func() (fleet.HubLoad, bool) { return fleet.HubLoad{}, false },
		"numbers": func() (fleet.HubLoad, bool) { return unknown, true }} {
		o.Load = load
		text := scraped(t, metrics.New(o))
		if got := strings.Contains(text, "fettle_hub_agents 0\n"); got != (name == "numbers") {
			t.Errorf("%s: agents %t", name, got)
		}
		for _, each := range []string{"cpu_ratio", "event_lag", "handshakes_waiting", "disk_free_ratio"} {
			if strings.Contains(text, "fettle_hub_"+each) {
				t.Errorf("%s: %s is not missing", name, each)
			}
		}
	}
}

// For any number of invented targets, revisions and states of agents, the number of series is the
// same, and all series are different.
func TestBoundedLabels(t *testing.T) {
	h, o := hub(t)
	o.Targets = 1
	m := metrics.New(o)
	lines := func() int { return strings.Count(scraped(t, m), "\n") }
	before := lines()
	for i := range 30 {
		status := fleet.Status{Version: strings.Repeat("\xff\nv", 50) + fmt.Sprint(i)}
		for _, c := range []string{"other", "bbbbbbbbbbbbX", fmt.Sprint(i)} {
			status.Modules = []fleet.ModuleStatus{{Module: "modules/web", Commit: c,
				State: fleet.Readiness(fmt.Sprint("state", i))}}
			r := fleet.Report{Format: fleet.ReportFormat, Target: "bbbbbbbbbbbbbbbbbbbbbbbbba", Seq: uint64(10 + 3*i + len(c)),
				Event: fleet.Event{Kind: "odd"}, Status: status}
			if err := h.Tell(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		if now := lines(); now != before {
			t.Fatalf("%d lines, and before it was %d", now, before)
		}
	}
}

// Every metric in the dashboard and the rules exists.
func TestMonitoring(t *testing.T) {
	const dir = "../../../../packaging/monitoring"
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	read(t, filepath.Join(dir, "grafana-fleet.json"), &dashboard,
		func(b []byte, v any) error { return json.Unmarshal(b, v) })
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For string
				Annotations      map[string]string
			}
		}
	}
	read(t, filepath.Join(dir, "alerts.yml"), &rules, func(b []byte, v any) error { return yaml.Unmarshal(b, v) })
	var exprs []string
	for _, p := range dashboard.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			exprs = append(exprs, r.Expr)
			if r.Alert == "" || r.For == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("the rule %q lacks something", r.Alert)
			}
		}
	}
	if len(exprs) < 25 {
		t.Fatalf("only %d expressions", len(exprs))
	}
	name := regexp.MustCompile(`fettle_[a-z_]+`)
	for _, e := range exprs {
		for _, n := range name.FindAllString(e, -1) {
			if !slices.Contains(metrics.Names(), strings.TrimSuffix(n, "_bucket")) {
				t.Errorf("no hub has %s: %s", n, e)
			}
		}
		if strings.Count(e, "(") != strings.Count(e, ")") || strings.Count(e, "{") != strings.Count(e, "}") {
			t.Errorf("%s is torn", e)
		}
	}
}

func read(t *testing.T, file string, into any, parse func([]byte, any) error) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = parse(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// often counts how often modules are counted. Each count takes a second.
type often struct {
	*apitest.Hub
	now    time.Time
	counts int
}

func (o *often) Modules(ctx context.Context, now time.Time) (document.ModulePage, error) {
	o.counts++
	o.now = o.now.Add(time.Second)
	return o.Hub.Modules(ctx, now)
}

func TestModulesAreCountedSeldom(t *testing.T) {
	h, o := hub(t)
	views := &often{Hub: h, now: apitest.Now()}
	o.Views, o.Now = views, func() time.Time { return views.now }
	m := metrics.New(o)
	tell := func(seq uint64, state fleet.Readiness) {
		t.Helper()
		r := fleet.Report{Format: fleet.ReportFormat, Target: "bbbbbbbbbbbbbbbbbbbbbbbbba", Seq: seq,
			Event: fleet.Event{Kind: "odd"}, Status: fleet.Status{Modules: []fleet.ModuleStatus{{Module: "modules/web",
				State: state}}}}
		if err := h.Tell(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	after := func(pause time.Duration, counts int, want string) {
		t.Helper()
		views.now = views.now.Add(pause)
		if text := scraped(t, m); views.counts != counts || !strings.Contains(text, want+"\n") {
			t.Errorf("counted %d times, want %d and %s", views.counts, counts, want)
		}
	}
	failed := func(n int) string {
		return fmt.Sprintf(`fettle_module_targets{module="modules/web",state="failed"} %d`, n)
	}
	after(0, 1, failed(1))
	after(50*time.Second, 1, failed(1)) // nothing has changed
	after(time.Hour, 2, failed(1))      // but somebody may be silent by now
	after(50*time.Second, 2, failed(1))
	tell(100, fleet.ModuleReady)
	after(0, 3, failed(0))
	tell(101, fleet.ModuleFailed)
	after(10*time.Second, 3, failed(0)) // too soon
	after(10*time.Second, 4, failed(1))
}

// TestMetricsOfAPart: a request with a boundary gets the metrics of its targets and modules, and none of the hub or the
// fleet. Another part, and the whole, are unchanged by it.
func TestMetricsOfAPart(t *testing.T) {
	h, o := hub(t)
	m := metrics.New(o)
	ask := func(b fleet.Boundary) string {
		t.Helper()
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://hub/metrics", nil)
		m.ServeHTTP(w, r.WithContext(fleet.WithBoundary(t.Context(), b)))
		if w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return w.Body.String()
	}
	moved := fleet.Target{ID: fleet.TargetID(strings.Repeat("d", 25) + "a"), Name: "mail1", Standing: fleet.Active,
		Organization: "acme"}
	if err := h.Add(t.Context(), moved); err != nil {
		t.Fatal(err)
	}
	before := scraped(t, m)
	prod := fleet.TargetFilter{Labels: map[string]string{"env": "prod"}}
	for what, c := range map[string]struct {
		b           fleet.Boundary
		has, hasNot []string
	}{
		"a label": {fleet.Boundary{Limited: true, Parts: []fleet.TargetFilter{prod}},
			[]string{`target="web1"`, `fettle_targets{standing="active"} 1`, `module="modules/web"`, "view_errors 0"},
			[]string{"web2", "mail1", "db1"}},
		"an organization": {fleet.Boundary{Organization: "acme"},
			[]string{`target="mail1"`, `fettle_targets{standing="active"} 1`, "view_errors 0"},
			[]string{"web1", "web2", "modules/web"}},
		"nothing": {fleet.Boundary{Limited: true}, []string{`fettle_targets{standing="active"} 0`},
			[]string{"web1", "web2", "mail1", "modules/web"}},
	} {
		got := ask(c.b)
		for _, text := range c.has {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %q is missing in\n%s", what, text, got)
			}
		}
		for _, text := range append(c.hasNot, "fettle_hub_info", "fettle_hub_log_position", "fettle_rollouts",
			"fettle_scope", "fettle_hub_up", "fettle_hub_reports", "fettle_run_seconds") {
			if strings.Contains(got, text) {
				t.Errorf("%s: %q is in\n%s", what, text, got)
			}
		}
	}
	if after := scraped(t, m); after != before {
		t.Errorf("the metrics of the fleet changed:\n%s\n%s", before, after)
	}
}
