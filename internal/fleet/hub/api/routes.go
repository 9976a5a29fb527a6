package api

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
)

// Route is one line of the table.
type Route struct {
	Method string
	// Path has segments in braces where a request has a value of its own.
	Path  string
	Right access.Right
	Does  string // a sentence for people, without its point
	// Query are the parameters that it takes.
	Query []Parameter
	// In and Out are zero values of what goes in and out; In nil takes no body.
	In, Out any
	// Stream tells that Out comes again and again, as JSON lines or server-sent events.
	Stream bool
	// Upgrade tells that the connection becomes a stream of bytes both ways.
	Upgrade bool
	// Plain tells that the answer is text and no document.
	Plain bool
	call  func(*call) (any, error)
}

// Parameter is one of a query.
type Parameter struct {
	Name string
	Does string
	Many bool // it may be given several times
	Int  bool
}

// Name is the route in one text: "GET /v1/targets".
func (r Route) Name() string { return r.Method + " " + r.Path }

// Changes tells whether a route does something that is audited.
func (r Route) Changes() bool { return r.Method != http.MethodGet }

// Routes is the table: everything that a Handler answers.
func Routes() []Route {
	page := []Parameter{{Name: "offset", Does: "leave so many out", Int: true}, {Name: "limit", Does: "give at most so many", Int: true}}
	chosen := append([]Parameter{
		{Name: "select", Does: "a selection, as -t takes it", Many: true},
		{Name: "all", Does: "true: those that are retired or revoked too"},
		{Name: "sort", Does: "name, state, contact, drift, behind or changed; - before it turns it round"},
	}, page...)
	told := []Parameter{
		{Name: "target", Does: "of this target: its identity or name"}, {Name: "module", Does: "of this module"},
		{Name: "kind", Does: "of this kind", Many: true}, {Name: "since", Does: "not before, as RFC 3339"}, {Name: "until", Does: "before, as RFC 3339"},
		{Name: "after", Does: "behind this cursor"}, {Name: "limit", Does: "give at most so many", Int: true},
	}
	return append([]Route{
		{Method: "GET", Path: "/healthz", Right: Open, Does: "Whether the hub runs", Plain: true, call: (*call).healthz},
		{Method: "GET", Path: "/readyz", Right: Open, Does: "Whether the hub serves agents", Plain: true, call: (*call).readyz},
		{Method: "GET", Path: "/metrics", Right: access.Read, Does: "Metrics as Prometheus reads them", Plain: true, call: (*call).metrics},
		{Method: "GET", Path: "/v1/openapi.json", Right: access.Read, Does: "This description", Out: map[string]any{}, call: (*call).openAPI},
		{Method: "GET", Path: "/v1/whoami", Right: access.Read, Does: "Who asks, and which rights that gives", Out: document.Person{}, call: (*call).whoami},
		{Method: "GET", Path: "/v1/health", Right: access.Read, Does: "How the hub is", Out: document.Health{}, call: (*call).health},
		{Method: "GET", Path: "/v1/status", Right: access.Read, Does: "The fleet in numbers", Out: document.Status{}, call: (*call).status},
		{Method: "GET", Path: "/v1/repositories", Right: access.Read, Does: "The repositories that the hub follows", Out: document.RepositoryPage{}, call: (*call).repositories},

		{Method: "GET", Path: "/v1/targets", Right: access.Read, Does: "Targets", Query: chosen, Out: document.TargetPage{}, call: (*call).targets},
		{Method: "GET", Path: "/v1/targets/{target}", Right: access.Read, Does: "One target, by identity or name", Out: document.TargetDetail{}, call: (*call).target},
		{Method: "GET", Path: "/v1/targets/{target}/modules/{module}", Right: access.Read, Does: "Why a module on a target is as it is; a / in its name is %2F", Out: document.Explanation{}, call: (*call).explain},
		{Method: "POST", Path: "/v1/targets/{target}/approve", Right: access.Approve, Does: "Let a target in that waits for it", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).approve},
		{Method: "POST", Path: "/v1/targets/{target}/label", Right: access.Admin, Does: "Set and remove labels, which grant access", In: document.LabelRequest{}, Out: document.Done{}, call: (*call).label},
		{Method: "POST", Path: "/v1/targets/{target}/retire", Right: access.Admin, Does: "Take a target out of the fleet", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).retire},
		{Method: "POST", Path: "/v1/targets/{target}/revoke", Right: access.Admin, Does: "Believe a target no more, at once", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).revoke},
		{Method: "POST", Path: "/v1/targets/{target}/pin", Right: access.Operate, Does: "Keep a target, or a module of it, on a branch, tag or commit", In: document.PinRequest{}, Out: document.Done{}, call: (*call).pin},
		{Method: "POST", Path: "/v1/targets/{target}/unpin", Right: access.Operate, Does: "Let it follow the others again", In: document.UnpinRequest{}, Out: document.Done{}, call: (*call).unpin},
		{Method: "POST", Path: "/v1/targets/{target}/freeze", Right: access.Operate, Does: "Keep a target from changing", In: document.FreezeRequest{}, Out: document.Done{}, call: (*call).freeze},
		{Method: "POST", Path: "/v1/targets/{target}/unfreeze", Right: access.Operate, Does: "Let a target change again", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).unfreeze},
		{Method: "POST", Path: "/v1/freeze", Right: access.Operate, Does: "Keep all targets from changing, also those that join later", In: document.FreezeRequest{}, Out: document.Done{}, call: (*call).freezeAll},
		{Method: "POST", Path: "/v1/unfreeze", Right: access.Operate, Does: "End the freeze of all targets; freezes of single targets remain", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).unfreezeAll},
		{Method: "POST", Path: "/v1/targets/{target}/look", Right: access.Read, Does: "The executor of a target, which changes nothing and runs no command", In: document.ExecutorRequest{}, Upgrade: true, call: (*call).look},
		{Method: "POST", Path: "/v1/targets/{target}/work", Right: access.Operate, Does: "The executor of a target: plans, runs, commands, files", In: document.ExecutorRequest{}, Upgrade: true, call: (*call).work},

		{Method: "GET", Path: "/v1/modules", Right: access.Read, Does: "Modules over all active targets", Out: document.ModulePage{}, call: (*call).modules},
		{Method: "GET", Path: "/v1/modules/{module}", Right: access.Read, Does: "One module and its targets, the worst first; a / in its name is %2F", Query: page, Out: document.ModuleDetail{}, call: (*call).module},

		{Method: "GET", Path: "/v1/exports", Right: access.Read, Does: "The values that targets export", Out: document.Exports{}, call: (*call).exports},

		{Method: "GET", Path: "/v1/events", Right: access.Read, Does: "What happened, oldest first; the newest when neither since nor after says where to begin", Query: told, Out: document.EventPage{}, call: (*call).events},
		{Method: "GET", Path: "/v1/events/follow", Right: access.Read, Does: "What happens, as it happens: JSON lines, or server-sent events for who accepts text/event-stream", Query: told, Out: document.Event{}, Stream: true, call: (*call).follow},

		{Method: "GET", Path: "/v1/requests", Right: access.Read, Does: "What agents were asked, the newest first", Query: page, Out: document.RequestPage{}, call: (*call).requests},
		{Method: "GET", Path: "/v1/requests/{request}", Right: access.Read, Does: "One request, and who acknowledged it", Out: document.Request{}, call: (*call).request},
		{Method: "POST", Path: "/v1/requests", Right: access.Operate, Does: "Ask agents to apply, verify, report or run something; kept for those that are away", In: document.DoRequest{}, Out: document.Request{}, call: (*call).do},
		{Method: "POST", Path: "/v1/requests/{request}/withdraw", Right: access.Operate, Does: "Take a request back from those who have not begun it", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).withdraw},

		{Method: "GET", Path: "/v1/programs", Right: access.Read, Does: "Which programs agents are to be", Out: document.ProgramPage{}, call: (*call).programs},
		{Method: "POST", Path: "/v1/programs", Right: access.Admin, Does: "Say which program agents are to be; its files were given to /v1/programs/file", In: document.ProgramRequest{}, Out: document.Done{}, call: (*call).setProgram},
	}, slices.Concat(memberRoutes(), notifyRoutes(), hubRoutes(), askRoutes())...)
}

// memberRoutes are about who belongs to the fleet besides targets: hubs and people.
func memberRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/v1/tokens", Right: access.Admin, Does: "The tokens that let targets in, without the secrets", Out: document.TokenPage{}, call: (*call).tokens},
		{Method: "POST", Path: "/v1/tokens", Right: access.Admin, Does: "Make a token; the answer is the only one that holds it", In: document.TokenRequest{}, Out: document.NewToken{}, call: (*call).createToken},
		{Method: "POST", Path: "/v1/tokens/{token}/revoke", Right: access.Admin, Does: "Let nobody in with a token any more", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).revokeToken},

		{Method: "GET", Path: "/v1/audit", Right: access.Admin, Does: "The audit log of this hub, from a place on, or its last records", Query: []Parameter{{Name: "offset", Does: "from this byte on, where a record has to begin", Int: true}, {Name: "limit", Does: "give at most so many", Int: true}}, Out: document.AuditPage{}, call: (*call).auditLog},
		{Method: "GET", Path: "/v1/hubs", Right: access.Read, Does: "The hubs of the fleet, and on which of them everything is kept", Out: document.HubPage{}, call: (*call).hubs},
		{Method: "POST", Path: "/v1/hubs/{hub}/retire", Right: access.Admin, Does: "Take a hub out of the fleet: nobody believes it any more when the others have all that it keeps, or at once where it is lost", In: document.HubRetirement{}, Out: document.Done{}, call: (*call).retireHub},

		{Method: "GET", Path: "/v1/people", Right: access.Admin, Does: "Whom the hub knows, and what they may do", Out: document.People{}, call: (*call).people},
		{Method: "POST", Path: "/v1/people", Right: access.Admin, Does: "Make somebody known, or change what they may do", In: document.PersonRequest{}, Out: document.Done{}, call: (*call).setPerson},
		{Method: "POST", Path: "/v1/people/{person}/login", Right: access.Admin, Does: "Make a token with which somebody logs in; the answer is the only one that holds it", In: document.LoginRequest{}, Out: document.NewLogin{}, call: (*call).createLogin},
		{Method: "GET", Path: "/v1/people/{person}/logins", Right: access.Admin, Does: "The tokens of somebody, without the secrets", Out: document.LoginPage{}, call: (*call).logins},
		{Method: "POST", Path: "/v1/people/{person}/logins/{login}/withdraw", Right: access.Admin, Does: "End one token of somebody, at all hubs", In: document.ReasonRequest{}, Out: document.Done{}, call: (*call).withdrawLogin},
	}
}

// values matches the segments of a path against a route's, which are taken apart already.
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

// in is a new value of what goes in.
func (r Route) in() any { return reflect.New(reflect.TypeOf(r.In)).Interface() }
