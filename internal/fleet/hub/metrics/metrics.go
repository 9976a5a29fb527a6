// Package metrics exports the state of a fleet and of its hub to Prometheus.
//
//	m := metrics.New(metrics.Options{Views: view, Health: core.Health, Now: time.Now})
//	handler.Metrics = m
//	m.Reports(3)                     // where the log is written
//	m.Committed(12 * time.Millisecond)
//
// For each scrape, the values of targets are computed from the read model, and the values of
// modules only after a change. They are the same at every hub. An agent cannot increase the number
// of time series: at most Options.Targets targets have series with their name, and a module has at
// most Options.Revisions series of assigned revisions. All other revisions count as "other".
package metrics

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

// Views are the queries of the read model. *view.View implements it.
type Views interface {
	Targets(ctx context.Context, q view.TargetQuery) (document.TargetPage, error)
	Modules(ctx context.Context, now time.Time) (document.ModulePage, error)
	Status(ctx context.Context, now time.Time) (document.Status, error)
	// Changed returns a channel that is closed at the next change. Until then, all calls return the
	// same channel.
	Changed() <-chan struct{}
}

// Scopes are the scopes of a fleet and their tasks.
type Scopes interface {
	Scopes(ctx context.Context) ([]document.Scope, error)
	Tasks(ctx context.Context) ([]document.ScopeTask, error)
}

// Options configure the metrics. Views, Health and Now must be set.
type Options struct {
	Views  Views
	Health func(context.Context) document.Health
	Now    func() time.Time
	// Redundancy describes the missing copies of data, "" for none, and returns how many hubs may
	// fail. nil means a hub that is alone.
	Redundancy func() (lost string, spare int)
	// Load returns the load of the hub; known is false if it is unknown. nil means always.
	Load func() (l fleet.HubLoad, known bool)
	// Rollouts returns the stored rollouts. nil means that the hub has none.
	Rollouts func(context.Context) ([]document.Rollout, error)
	// Scopes are the scopes of the fleet. nil means that the hub has none.
	Scopes Scopes
	// Targets limits the targets with metrics by name; 0 means 2000, a negative value means none.
	Targets int
	// Revisions limits the revisions of one module; 0 means 5.
	Revisions int
	Version   string
}

// Metrics serves /metrics. Its methods are safe for concurrent use.
type Metrics struct {
	whole   http.Handler
	values  collector
	parts   chan struct{} // one element for each scrape of a part of the fleet
	reports prometheus.Counter
	commits prometheus.Histogram
	refused *prometheus.CounterVec
	runs    prometheus.Histogram
}

// scrape limits the duration of a scrape.
const scrape = 10 * time.Second

// maxParts limits the scrapes of parts of the fleet that run at the same time. Each one counts the modules of its
// targets.
const maxParts = 4

// New returns metrics with their own registry.
func New(o Options) *Metrics {
	o.Targets, o.Revisions = cmp.Or(o.Targets, 2000), cmp.Or(o.Revisions, 5)
	m := &Metrics{
		reports: prometheus.NewCounter(prometheus.CounterOpts{Name: "fettle_hub_reports_total",
			Help: "Reports of agents that this hub wrote to the log."}),
		commits: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fettle_hub_commit_seconds",
			Help: "Seconds until reports were durable.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "fettle_hub_refused_total",
			Help: "Refusals of this hub, by the refused operation."}, []string{"what"}),
	}
	m.runs = prometheus.NewHistogram(prometheus.HistogramOpts{Name: "fettle_run_seconds",
		Help:    "Run times of the ended runs that agents reported to this hub.",
		Buckets: prometheus.ExponentialBuckets(0.125, 2, 16)})
	for _, what := range Refusals() {
		m.refused.WithLabelValues(string(what))
	}
	r := prometheus.NewRegistry()
	m.values, m.parts = collector{o, &counted{}}, make(chan struct{}, maxParts)
	r.MustRegister(m.reports, m.commits, m.refused, m.runs, m.values)
	m.whole = promhttp.HandlerFor(r, promhttp.HandlerOpts{Timeout: scrape, MaxRequestsInFlight: 4})
	return m
}

// ServeHTTP answers a scrape. A request with a boundary gets only the metrics of targets and modules within it, and
// none of the hub, of rollouts or of scopes.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if fleet.BoundaryOf(r.Context()).All() {
		m.whole.ServeHTTP(w, r)
		return
	}
	select {
	case m.parts <- struct{}{}:
		defer func() { <-m.parts }()
	default:
		http.Error(w, "too many scrapes run at the same time: try again later", http.StatusServiceUnavailable)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(part{m.values, r.Context()})
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{Timeout: scrape}).ServeHTTP(w, r)
}

// Reports counts n written reports.
func (m *Metrics) Reports(n int) { m.reports.Add(float64(max(n, 0))) }

// Committed records the duration of one commit of reports.
func (m *Metrics) Committed(d time.Duration) { m.commits.Observe(d.Seconds()) }

// Run records the run time of a run that an agent reported, if it is known.
func (m *Metrics) Run(e fleet.Event) {
	if d, ok := e.RunTime(); ok {
		m.runs.Observe(d.Seconds())
	}
}

// Refusal is an operation that a hub refused. The list is closed, so that the labels are bounded.
type Refusal string

// All values of Refusal.
const (
	RefusedEnrolment  Refusal = "enrolment"
	RefusedRenewal    Refusal = "renewal"
	RefusedConnection Refusal = "link" // a connection to the bus
	RefusedReport     Refusal = "report"
	RefusedCall       Refusal = "call" // a call of the API
)

// Refusals returns all values of Refusal.
func Refusals() []Refusal {
	return []Refusal{RefusedEnrolment, RefusedRenewal, RefusedConnection, RefusedReport, RefusedCall}
}

// Refused counts one refusal. Unknown values are ignored.
func (m *Metrics) Refused(what Refusal) {
	for _, known := range Refusals() {
		if known == what {
			m.refused.WithLabelValues(string(what)).Inc()
		}
	}
}

// Names returns the names of all metrics.
func Names() []string {
	names := []string{"fettle_hub_reports_total", "fettle_hub_commit_seconds", "fettle_hub_refused_total",
		"fettle_run_seconds"}
	for _, d := range descriptions() {
		names = append(names, d.name)
	}
	return names
}

// described is a metric that is computed for each scrape.
type described struct {
	name, help string
	labels     []string
}

func (d described) desc() *prometheus.Desc {
	return prometheus.NewDesc(d.name, d.help, d.labels, nil)
}

func descriptions() []described {
	return []described{
		{"fettle_targets", "Targets by standing.", []string{"standing"}},
		{"fettle_target_states", "Active targets by their most severe state.", []string{"state"}},
		{"fettle_targets_connected", "Active targets that are connected.", nil},
		{"fettle_targets_behind", "Active targets with a module that is not applied as assigned.", nil},
		{"fettle_targets_errors", "Active targets with an error.", nil},
		{"fettle_targets_pinned", "Active targets that are pinned.", nil},
		{"fettle_targets_suspect", "Active targets that are marked as suspect.", nil},
		{"fettle_targets_unexpected",
			"Active targets in a state that should not last: failed, unresponsive, drifted or unknown.", nil},
		{"fettle_drift_addresses", "Addresses with drift, on active targets.", nil},
		{"fettle_target_info", "1 for each target, with its state and the version of its agent.",
			[]string{"target", "fleet", "state", "version"}},
		{"fettle_target_drift_addresses", "Addresses with drift on a target.", []string{"target"}},
		{"fettle_target_contact_timestamp_seconds", "Time of the last contact with a target.", []string{"target"}},
		{"fettle_target_changed_timestamp_seconds", "Time of the last run that changed a target.", []string{"target"}},
		{"fettle_target_behind", "Modules of a target that are not applied as assigned.", []string{"target"}},
		{"fettle_module_targets", "Active targets of a module, by the state of the module.", []string{"module", "state"}},
		{"fettle_module_behind", "Active targets where a module is not applied as assigned.", []string{"module"}},
		{"fettle_module_errors", "Active targets where a module has an error.", []string{"module"}},
		{"fettle_module_revision_assigned", "Active targets that should have a revision of a module.",
			[]string{"module", "revision"}},
		{"fettle_module_revision_applied", "Active targets that have a revision of a module.",
			[]string{"module", "revision"}},
		{"fettle_rollouts", "Rollouts that have not ended, by phase.", []string{"phase"}},
		{"fettle_rollouts_held", "Rollouts whose content is held, and that targets lack.", nil},
		{"fettle_rollout_targets", "Targets in rollouts that have not ended, by their state in the rollout.",
			[]string{"state"}},
		{"fettle_scopes", "Scopes, such as clusters, by verdict.", []string{"verdict"}},
		{"fettle_scope_verdict", "1 for the verdict of a scope.", []string{"scope", "verdict"}},
		{"fettle_scope_tasks", "Declared tasks of scopes, by phase.", []string{"phase"}},
		{"fettle_scope_tasks_undecided", "Tasks of scopes for which a user must decide whether they are done.", nil},
		{"fettle_hub_up", "1 when a part of the hub works.", []string{"part"}},
		{"fettle_hub_ready", "1 when the hub serves agents.", nil},
		{"fettle_hub_leads", "1 when this hub leads.", nil},
		{"fettle_hub_redundant", "1 when all data is stored on the intended number of hubs.", nil},
		{"fettle_hub_spare", "Number of hubs that may be lost before changes become impossible.", nil},
		{"fettle_hub_agents", "Agents that are connected to this hub.", nil},
		{"fettle_hub_cpu_ratio", "Used part of the CPUs that the hub can use, from 0 to 1.", nil},
		{"fettle_hub_event_lag", "Events of the log that the read model does not have yet.", nil},
		{"fettle_hub_handshakes_waiting", "Connections that wait for their handshake.", nil},
		{"fettle_hub_disk_free_ratio", "Free part of the disk of the hub, from 0 to 1.", nil},
		{"fettle_hub_info", "1, with the hub and its version.", []string{"hub", "version"}},
		{"fettle_hub_log_position", "Position of the read model in the log.", nil},
		{"fettle_hub_view_errors", "1 when the read model did not answer.", nil},
	}
}

// active reports whether a target counts.
func active(t document.Target) bool { return t.Standing == fleet.Active }
