package fakehub

import (
	"io"
	"net/http"
	"strings"

	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
)

// Scopes is a hub with the rack r1, which contains the failed cluster search, and with environments. Hostile answers
// the other routes.
type Scopes struct {
	Hostile
	Change func(*document.ScopeDetail) // changes the answer about a scope, if it is not nil
	Gone   bool                        // the repository no longer declares the scopes
	// Queries are the queries for the list of scopes, and Changes the paths and documents of changes; nil records none.
	Queries, Changes *[]string
}

// ServeHTTP answers the routes of the API.
func (h Scopes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && h.Changes != nil {
		text, _ := io.ReadAll(r.Body) // an incomplete document does not have the text that a test wants
		*h.Changes = append(*h.Changes, r.URL.Path+" "+strings.TrimSpace(string(text)))
	}
	all, _ := apitest.Scopes{}.Scopes(r.Context())
	tasks, _ := apitest.Scopes{}.Tasks(r.Context())
	switch r.URL.Path {
	case "/v1/environments":
		answer(w, apitest.Scopes{}.Environments())
	case "/v1/environment-rules":
		answer(w, apitest.Scopes{}.EnvironmentRules())
	case "/v1/scopes":
		if r.URL.Query().Get("kind") == "environment" {
			answer(w, apitest.Scopes{}.OfEnvironments())
			return
		}
		if h.Queries != nil {
			*h.Queries = append(*h.Queries, r.URL.RawQuery)
		}
		answer(w, document.ScopePage{Scopes: all, Total: 2, Cursor: "4 rack/r1", Kinds: []string{"cluster", "rack"},
			Verdicts: map[document.Verdict]int{document.VerdictFailed: 1, document.VerdictReady: 1}})
	case "/v1/scopes/cluster/search", "/v1/scopes/rack/r1":
		h.scope(w, r, tasks)
	case "/v1/scopes/cluster/search/history", "/v1/scopes/rack/r1/history":
		answer(w, document.ScopeHistory{Verdicts: apitest.Scopes{}.ScopeHistory()})
	case "/v1/tasks":
		answer(w, document.TaskPage{Tasks: tasks})
	default:
		h.Hostile.ServeHTTP(w, r)
	}
}

// Environments is a hub with environments that operators created, and one rule. Hostile answers the other routes.
type Environments struct {
	Hostile
	All  []document.Environment
	Rule document.EnvironmentRule
}

// ServeHTTP answers the routes of the API.
func (h Environments) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/environments":
		answer(w, document.EnvironmentPage{Environments: h.All})
	case "/v1/environment-rules":
		answer(w, document.EnvironmentRulePage{Rules: []document.EnvironmentRule{h.Rule}})
	case "/v1/scopes":
		answer(w, document.ScopePage{})
	default:
		h.Hostile.ServeHTTP(w, r)
	}
}

func (h Scopes) scope(w http.ResponseWriter, r *http.Request, tasks []document.ScopeTask) {
	if h.Gone {
		w.WriteHeader(http.StatusNotFound)
		answer(w, document.Problem{Title: "There is no such scope", Status: http.StatusNotFound})
		return
	}
	d := apitest.Scopes{}.Scope(r.Context())
	if d.Tasks = tasks; h.Change != nil {
		h.Change(&d)
	}
	answer(w, d)
}
