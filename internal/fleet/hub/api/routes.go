package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Route is one row of the table.
type Route struct {
	Method string
	// Path has a segment in braces for each value.
	Path  string
	Right access.Right
	Does  string // a sentence without its full stop
	// Query contains the allowed parameters.
	Query []Parameter
	// In and Out are zero values of the documents. If In is nil, the request has no body.
	In, Out any
	// Stream means that the answer is a stream of Out, as JSON lines or server-sent events.
	Stream bool
	// Upgrade means that the connection becomes a stream of bytes in both directions.
	Upgrade bool
	// Plain means that the answer is text.
	Plain bool
	call  func(*call) (any, error)
}

// Parameter is a parameter of a query.
type Parameter struct {
	Name string
	Does string
	Many bool // may be repeated
	Int  bool
}

// Name returns the method and the path, such as "GET /v1/targets".
func (r Route) Name() string { return r.Method + " " + r.Path }

// Changes reports whether a route changes something, so that it is audited.
func (r Route) Changes() bool { return r.Method != http.MethodGet }

// Routes returns the table of all routes.
func Routes() []Route {
	page := []Parameter{{Name: "offset", Does: "skip this number of items", Int: true}, {Name: "limit", Does: "return at most this number of items", Int: true}}
	chosen := append([]Parameter{
		{Name: "select", Does: "a selection, as for -t", Many: true},
		{Name: "all", Does: "true: include retired and revoked targets"},
		{Name: "sort", Does: "name, state, contact, drift, behind or changed; a - before the name reverses the order"},
	}, page...)
	told := []Parameter{
		{Name: "target", Does: "only this target: its identity or name"}, {Name: "module", Does: "only this module"},
		{Name: "kind", Does: "only this kind", Many: true}, {Name: "since", Does: "at or after this time, as RFC 3339"}, {Name: "until", Does: "before this time, as RFC 3339"},
		{Name: "after", Does: "after this cursor"}, {Name: "limit", Does: "return at most this number of items", Int: true},
	}
	return append([]Route{
		{Method: "GET", Path: "/healthz", Right: Open, Does: "Check whether the hub runs", Plain: true, call: (*call).healthz},
		{Method: "GET", Path: "/readyz", Right: Open, Does: "Check whether the hub serves agents", Plain: true, call: (*call).readyz},
		{Method: "GET", Path: "/metrics", Right: access.Read, Does: "Metrics in the format of Prometheus", Plain: true, call: (*call).metrics},
		{Method: "GET", Path: "/v1/openapi.json", Right: access.Read, Does: "This description", Out: map[string]any{}, call: (*call).openAPI},
		{Method: "GET", Path: "/v1/whoami", Right: access.Read, Does: "Show the current user and the rights", Out: document.CurrentUser{}, call: (*call).whoami},
		{Method: "GET", Path: "/v1/health", Right: access.Read, Does: "Show the health of the hub", Out: document.Health{}, call: (*call).health},
		{Method: "GET", Path: "/v1/status", Right: access.Read, Does: "Show the numbers of the fleet", Out: document.Status{}, call: (*call).status},
		{Method: "GET", Path: "/v1/repositories", Right: access.Read, Does: "List the repositories that the hub follows", Out: document.RepositoryPage{}, call: (*call).repositories},

		{Method: "GET", Path: "/v1/targets", Right: access.Read, Does: "List targets", Query: chosen, Out: document.TargetPage{}, call: (*call).targets},
		{Method: "GET", Path: "/v1/targets/{target}", Right: access.Read, Does: "Show one target, by identity or name", Out: document.TargetDetail{}, call: (*call).target},
		{Method: "GET", Path: "/v1/targets/{target}/modules/{module}", Right: access.Read, Does: "Explain the state of a module on a target; write a / in its name as %2F", Out: document.Explanation{}, call: (*call).explain},
		{Method: "POST", Path: "/v1/targets/{target}/approve", Right: access.Approve, Does: "Admit a pending target", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).approve},
		{Method: "POST", Path: "/v1/targets/{target}/label", Right: access.Admin, Does: "Set and remove labels, which grant access", In: document.LabelRequest{}, Out: document.Done{}, call: (*call).label},
		{Method: "POST", Path: "/v1/targets/{target}/retire", Right: access.Admin, Does: "Retire a target", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).retire},
		{Method: "POST", Path: "/v1/targets/{target}/revoke", Right: access.Admin, Does: "Revoke the certificates of a target, immediately", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).revoke},
		{Method: "POST", Path: "/v1/targets/{target}/pin", Right: access.Operate, Does: "Pin a target, or one of its modules, to a branch, tag or commit", In: document.PinRequest{}, Out: document.Done{}, call: (*call).pin},
		{Method: "POST", Path: "/v1/targets/{target}/unpin", Right: access.Operate, Does: "Remove the pin of a target", In: document.UnpinRequest{}, Out: document.Done{}, call: (*call).unpin},
		{Method: "POST", Path: "/v1/targets/{target}/freeze", Right: access.Operate, Does: "Freeze a target", In: document.FreezeRequest{}, Out: document.Done{}, call: (*call).freeze},
		{Method: "POST", Path: "/v1/targets/{target}/unfreeze", Right: access.Operate, Does: "Unfreeze a target", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).unfreeze},
		{Method: "POST", Path: "/v1/freeze", Right: access.Operate, Does: "Freeze all targets, including targets that join later", In: document.FreezeRequest{}, Out: document.Done{}, call: (*call).freezeAll},
		{Method: "POST", Path: "/v1/unfreeze", Right: access.Operate, Does: "End the freeze of all targets; freezes of single targets remain", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).unfreezeAll},
		{Method: "POST", Path: "/v1/targets/{target}/look", Right: access.Read, Does: "Open a read-only executor of a target", In: document.ExecutorRequest{}, Upgrade: true, call: (*call).look},
		{Method: "POST", Path: "/v1/targets/{target}/work", Right: access.Operate, Does: "Open an executor of a target: plans, runs, commands, files", In: document.ExecutorRequest{}, Upgrade: true, call: (*call).work},

		{Method: "GET", Path: "/v1/modules", Right: access.Read, Does: "List the modules of all active targets", Out: document.ModulePage{}, call: (*call).modules},
		{Method: "GET", Path: "/v1/modules/{module}", Right: access.Read, Does: "Show one module and its targets, worst first; write a / in its name as %2F", Query: page, Out: document.ModuleDetail{}, call: (*call).module},

		{Method: "GET", Path: "/v1/exports", Right: access.Read, Does: "List the values that targets export", Out: document.Exports{}, call: (*call).exports},

		{Method: "GET", Path: "/v1/events", Right: access.Read, Does: "List events, oldest first; without since and after, the newest events", Query: told, Out: document.EventPage{}, call: (*call).events},
		{Method: "GET", Path: "/v1/events/follow", Right: access.Read, Does: "Stream new events: JSON lines, or server-sent events for clients that accept text/event-stream", Query: told, Out: document.Event{}, Stream: true, call: (*call).follow},

		{Method: "GET", Path: "/v1/jobs", Right: access.Read, Does: "List the jobs of agents, newest first", Query: page, Out: document.JobPage{}, call: (*call).jobs},
		{Method: "GET", Path: "/v1/jobs/{job}", Right: access.Read, Does: "Show one job, and the agents that acknowledged it", Out: document.Job{}, call: (*call).job},
		{Method: "POST", Path: "/v1/jobs", Right: access.Operate, Does: "Create a job: agents apply, verify, report or run a program; the hub stores the job for offline agents", In: document.JobRequest{}, Out: document.Job{}, call: (*call).createJob},
		{Method: "POST", Path: "/v1/jobs/{job}/cancel", Right: access.Operate, Does: "Cancel a job for agents that have not started it", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).cancelJob},

		{Method: "GET", Path: "/v1/binaries", Right: access.Read, Does: "List the binaries that are set for agents", Out: document.BinaryPage{}, call: (*call).binaries},
		{Method: "POST", Path: "/v1/binaries", Right: access.Admin, Does: "Set the binary of agents, after its files were uploaded to /v1/binaries/file", In: document.BinaryRequest{}, Out: document.Done{}, call: (*call).setBinary},
	}, slices.Concat(memberRoutes(), notifyRoutes(), hubRoutes(), requestRoutes())...)
}

// memberRoutes returns the routes about tokens, hubs, users and the audit log.
func memberRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/tokens", Right: access.Admin, Does: "List the tokens for targets, without the secrets", Out: document.TokenPage{}, call: (*call).tokens},
		{Method: "POST", Path: "/v1/tokens", Right: access.Admin, Does: "Create a token; only this answer contains it", In: document.TokenRequest{}, Out: document.NewToken{}, call: (*call).createToken},
		{Method: "POST", Path: "/v1/tokens/{token}/revoke", Right: access.Admin, Does: "Revoke a token", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).revokeToken},

		{Method: "GET", Path: "/v1/audit", Right: access.Admin, Does: "Show the audit log of this hub, from an offset, or its last records", Query: []Parameter{{Name: "offset", Does: "start at this byte, at which a record must begin", Int: true}, {Name: "limit", Does: "return at most this number of items", Int: true}}, Out: document.AuditPage{}, call: (*call).auditLog},
		{Method: "GET", Path: "/v1/hubs", Right: access.Read, Does: "List the hubs of the fleet, and their redundancy", Out: document.HubPage{}, call: (*call).hubs},
		{Method: "POST", Path: "/v1/hubs/{hub}/retire", Right: access.Admin, Does: "Retire a hub: the trust in it ends when the other hubs have all of its data, or immediately if it is lost", In: document.HubRetirement{}, Out: document.Done{}, call: (*call).retireHub},

		{Method: "GET", Path: "/v1/users", Right: access.Admin, Does: "List the users and their rights", Out: document.UserPage{}, call: (*call).users},
		{Method: "POST", Path: "/v1/users", Right: access.Admin, Does: "Create a user, or change the rights of a user", In: document.UserRequest{}, Out: document.Done{}, call: (*call).setUser},
		{Method: "POST", Path: "/v1/users/{user}/login", Right: access.Admin, Does: "Create a login token for a user; only this answer contains it", In: document.LoginRequest{}, Out: document.NewLogin{}, call: (*call).createLogin},
		{Method: "GET", Path: "/v1/users/{user}/logins", Right: access.Admin, Does: "List the login tokens of a user, without the secrets", Out: document.LoginPage{}, call: (*call).logins},
		{Method: "POST", Path: "/v1/users/{user}/logins/{login}/revoke", Right: access.Admin, Does: "Revoke a login token of a user, at all hubs", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).revokeLogin},
	}
}

// values matches segments against the path of the route, and returns the values.
func (r Route) values(segments []string) (map[string]string, bool) {
	want := strings.Split(r.Path[1:], "/")
	if len(want) != len(segments) {
		return nil, false
	}
	out := map[string]string{}
	for i, w := range want {
		name, isValue := strings.CutPrefix(w, "{")
		switch {
		case isValue:
			out[strings.TrimSuffix(name, "}")] = segments[i]
		case w != segments[i]:
			return nil, false
		}
	}
	return out, true
}

// in returns a new value of the type of In.
func (r Route) in() any { return reflect.New(reflect.TypeOf(r.In)).Interface() }
