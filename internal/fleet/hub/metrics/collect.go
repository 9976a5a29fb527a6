package metrics

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// collector computes the values for each scrape.
type collector struct {
	o       Options
	counted *counted
}

// counted caches the counts of modules. Counting visits all modules of all targets. So it happens
// only after a change, or after a minute, because targets become unresponsive without an event. It
// uses at most a twentieth of the time.
type counted struct {
	mu    sync.Mutex
	as    <-chan struct{} // the channel of Views.Changed before the last count
	until time.Time       // not counted again before this time
	fresh time.Time       // valid until this time if nothing changes
	page  document.ModulePage
}

// seldom is the ratio between the pause and the duration of the last count.
const seldom = 20

// holds is the time for which counts are valid if nothing changes.
const holds = time.Minute

func (c *counted) modules(ctx context.Context, o Options) (document.ModulePage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	as, began := o.Views.Changed(), o.Now()
	if c.as == as && began.Before(c.fresh) || c.as != nil && began.Before(c.until) {
		return c.page, nil
	}
	page, err := o.Views.Modules(ctx, began)
	if err == nil {
		ended := o.Now()
		c.as, c.page, c.until, c.fresh = as, page, ended.Add(seldom*ended.Sub(began)), ended.Add(holds)
	}
	return page, err
}

// Describe sends no descriptions, so that the registry checks the values at each scrape.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the values from the read model and the hub.
func (c collector) Collect(out chan<- prometheus.Metric) {
	ctx, done := context.WithTimeout(context.Background(), scrape)
	defer done()
	g := newGauges(out)
	c.hub(ctx, g)
	err := errors.Join(c.status(ctx, g), c.targets(ctx, g), c.modules(ctx, g), c.rollouts(ctx, g),
		c.scopes(ctx, g))
	g.set("fettle_hub_view_errors", yes(err != nil))
}

// gauges sends values of the described metrics.
type gauges struct {
	out   chan<- prometheus.Metric
	known map[string]*prometheus.Desc
}

func newGauges(out chan<- prometheus.Metric) gauges {
	g := gauges{out, map[string]*prometheus.Desc{}}
	for _, d := range descriptions() {
		g.known[d.name] = d.desc()
	}
	return g
}

func (g gauges) set(name string, value float64, labels ...string) {
	m, err := prometheus.NewConstMetric(g.known[name], prometheus.GaugeValue, value, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(g.known[name], err)
	}
	g.out <- m
}

func yes(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func seconds(ns int64) float64 { return float64(ns) / float64(time.Second) }

// part computes the values within the boundary of a request.
type part struct {
	collector
	ctx context.Context
}

// Collect reads the values from the read model.
func (p part) Collect(out chan<- prometheus.Metric) {
	ctx, done := context.WithTimeout(p.ctx, scrape)
	defer done()
	g := newGauges(out)
	page, err := p.o.Views.Modules(ctx, p.o.Now())
	if err == nil {
		p.setModules(g, page)
	}
	err = errors.Join(err, p.status(ctx, g), p.targets(ctx, g))
	g.set("fettle_hub_view_errors", yes(err != nil))
}

func (c collector) hub(ctx context.Context, g gauges) {
	h := c.o.Health(ctx)
	g.set("fettle_hub_info", 1, h.Hub, c.o.Version)
	g.set("fettle_hub_ready", yes(h.Ready))
	g.set("fettle_hub_leads", yes(h.Leads))
	lost, spare := "", 0
	if c.o.Redundancy != nil {
		lost, spare = c.o.Redundancy()
	}
	g.set("fettle_hub_redundant", yes(lost == ""))
	g.set("fettle_hub_spare", float64(spare))
	c.load(g)
	told := map[string]bool{}
	for _, check := range h.Checks {
		if !told[check.Name] {
			g.set("fettle_hub_up", yes(check.Error == ""), check.Name)
		}
		told[check.Name] = true
	}
}

// load sends the known numbers of the load.
func (c collector) load(g gauges) {
	if c.o.Load == nil {
		return
	}
	l, known := c.o.Load()
	if !known {
		return
	}
	for name, value := range map[string]float64{"fettle_hub_agents": float64(l.Connections),
		"fettle_hub_cpu_ratio": l.CPU, "fettle_hub_event_lag": float64(l.EventLag),
		"fettle_hub_handshakes_waiting": float64(l.Handshakes), "fettle_hub_disk_free_ratio": l.DiskFree} {
		if value >= 0 {
			g.set(name, value)
		}
	}
}

func (c collector) status(ctx context.Context, g gauges) error {
	s, err := c.o.Views.Status(ctx, c.o.Now())
	if err != nil {
		return err
	}
	for _, standing := range []fleet.Standing{fleet.Pending, fleet.Active, fleet.Retired, fleet.Revoked} {
		g.set("fettle_targets", float64(s.Standings[standing]), string(standing))
	}
	unexpected := 0
	for _, state := range document.States() {
		if state == document.NotInFleet {
			continue
		}
		g.set("fettle_target_states", float64(s.States[state]), string(state))
		switch state {
		case document.Failed, document.Unresponsive, document.Drifted, document.Unknown:
			unexpected += s.States[state]
		}
	}
	g.set("fettle_targets_unexpected", float64(unexpected))
	g.set("fettle_targets_connected", float64(s.Connected))
	g.set("fettle_targets_behind", float64(s.Behind))
	g.set("fettle_targets_errors", float64(s.Errors))
	g.set("fettle_targets_pinned", float64(s.Pinned))
	g.set("fettle_targets_suspect", float64(s.Suspect))
	g.set("fettle_drift_addresses", float64(s.Drift))
	if fleet.BoundaryOf(ctx).All() { // the position shows the activity of the whole fleet
		g.set("fettle_hub_log_position", float64(s.Position))
	}
	return nil
}

// targets sends the metrics of single targets, up to Options.Targets, the worst first. Names of
// active targets are unique.
func (c collector) targets(ctx context.Context, g gauges) error {
	if c.o.Targets < 0 {
		return nil
	}
	page, err := c.o.Views.Targets(ctx, view.TargetQuery{Sort: "state", Limit: c.o.Targets, Now: c.o.Now()})
	if err != nil {
		return err
	}
	told := map[string]bool{}
	for _, t := range page.Targets {
		if !active(t) || told[t.Name] {
			continue
		}
		told[t.Name] = true
		g.set("fettle_target_info", 1, t.Name, t.Fleet, string(t.State), label(t.Version))
		g.set("fettle_target_drift_addresses", float64(t.Drift), t.Name)
		g.set("fettle_target_contact_timestamp_seconds", seconds(t.Contact), t.Name)
		g.set("fettle_target_changed_timestamp_seconds", seconds(t.Changed), t.Name)
		g.set("fettle_target_behind", float64(t.Behind), t.Name)
	}
	return nil
}

// label limits and cleans a text from an agent.
func label(text string) string {
	const most = 40
	out := []rune(text)
	for i, r := range out {
		if r < ' ' || r > '~' {
			out[i] = '?'
		}
	}
	return string(out[:min(most, len(out))])
}

// states returns the states with their own label. Other states have the label "unknown".
func states() []fleet.Readiness {
	return []fleet.Readiness{fleet.ModulePending, fleet.ModuleBlocked, fleet.ModuleApplying, fleet.ModuleReady,
		fleet.ModuleDrifted, fleet.ModuleFailed, fleet.ModuleFrozen, fleet.ModuleDeferred}
}

func (c collector) modules(ctx context.Context, g gauges) error {
	page, err := c.counted.modules(ctx, c.o)
	c.setModules(g, page)
	return err
}

func (c collector) setModules(g gauges, page document.ModulePage) {
	for _, m := range page.Modules {
		left := m.Targets
		for _, s := range states() {
			g.set("fettle_module_targets", float64(m.States[s]), m.Module, string(s))
			left -= m.States[s]
		}
		g.set("fettle_module_targets", float64(left), m.Module, string(view.Unreported))
		g.set("fettle_module_behind", float64(m.Behind), m.Module)
		g.set("fettle_module_errors", float64(m.Errors), m.Module)
		c.revisions(g, m)
	}
}

func (g gauges) revision(module string, r document.RevisionCount, name string) {
	g.set("fettle_module_revision_assigned", float64(r.Assigned), module, name)
	g.set("fettle_module_revision_applied", float64(r.Applied), module, name)
}

// revisions sends the counts of assigned revisions. Unassigned ones count as "other", because
// agents could report any text.
func (c collector) revisions(g gauges, m document.Module) {
	other := document.RevisionCount{Commit: "other"}
	told := map[string]bool{other.Commit: true}
	for _, r := range m.Revisions {
		name := r.Commit[:min(12, len(r.Commit))]
		if r.Assigned == 0 || len(told) > c.o.Revisions || told[name] {
			other.Assigned, other.Applied = other.Assigned+r.Assigned, other.Applied+r.Applied
			continue
		}
		told[name] = true
		g.revision(m.Module, r, name)
	}
	g.revision(m.Module, other, other.Commit)
}

func (c collector) rollouts(ctx context.Context, g gauges) error {
	var all []document.Rollout
	if c.o.Rollouts != nil {
		var err error
		if all, err = c.o.Rollouts(ctx); err != nil {
			return err
		}
	}
	setRollouts(all, g.set)
	return nil
}

func (c collector) scopes(ctx context.Context, g gauges) error {
	var all []document.Scope
	var tasks []document.ScopeTask
	if c.o.Scopes != nil {
		var err error
		if all, err = c.o.Scopes.Scopes(ctx); err != nil {
			return err
		}
		if tasks, err = c.o.Scopes.Tasks(ctx); err != nil {
			return err
		}
	}
	setScopes(all, tasks, g.set)
	return nil
}
