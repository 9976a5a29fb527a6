package api_test

import (
	"context"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/hub/api/apitest"
	"fettle.dev/fettle/internal/fleet/route"
)

// TestEachRouteHasOneHandler: the table is complete. A missing handler, a second handler, and a
// handler of a route that is not in the table of all routes are errors.
func TestEachRouteHasOneHandler(t *testing.T) {
	full := apitest.Table(newHub(t))
	if err := full.Complete(); err != nil {
		t.Error(err)
	}
	twice := route.Status()
	unknown := route.Status()
	unknown.Path = "/v1/unknown"
	for what, c := range map[string]struct {
		table *api.Table
		of    route.Route[route.None, route.None, document.Status]
		says  string
	}{
		"missing": {api.NewTable(nil), twice, "cannot answer GET /v1/health: it has no handler"},
		"twice":   {full, twice, "cannot handle GET /v1/status: it has two handlers"},
		"unknown": {apitest.Table(newHub(t)), unknown, "cannot handle GET /v1/unknown"},
	} {
		api.Handle(c.table, c.of, func(context.Context, api.Caller, route.None, route.None) (document.Status, error) {
			return document.Status{}, nil
		})
		if err := c.table.Complete(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestShortForms: each function for a special case gives its handler the values, the document and the user, and the
// answer is the result of the handler.
func TestShortForms(t *testing.T) {
	told := ""
	table := api.NewTable(nil)
	api.HandleGet(table, route.Signals(), func(context.Context) (document.SignalPage, error) {
		return document.SignalPage{Signals: []document.Signal{{Name: "schema"}}}, nil
	})
	api.HandleGetAt(table, route.Jobs(), func(_ context.Context, at route.Page) (document.JobPage, error) {
		return document.JobPage{Total: 10*at.Offset + at.Limit}, nil
	})
	api.HandlePost(table, route.SetUser(),
		func(_ context.Context, c api.Caller, r document.UserRequest) (document.Done, error) {
			return api.Done(nil, "%s sets %s at %d", c.Name, r.Name, c.Now.Year())
		})
	api.HandleDone(table, route.RevokeLogin(), "{login} of {user} is revoked, {target}.",
		func(_ context.Context, c api.Caller, at route.LoginID, r document.ReasonRequest) error {
			told = strings.Join([]string{c.Name, at.User, at.Login, r.Reason}, " ")
			if at.Login == "lost" {
				return fleet.ErrNotFound
			}
			return nil
		})
	h := newHub(t).Handler()
	h.Table = table
	for _, c := range []struct{ method, path, body, says, told string }{
		{"GET", "/v1/signals", "", `"name":"schema"`, ""},
		{"GET", "/v1/jobs?offset=4&limit=2", "", `"total":42`, ""},
		{"POST", "/v1/users", `{"name":"ann"}`, "jane sets ann at 2026", ""},
		{"POST", "/v1/users/ann/logins/%25d%7Buser%7D/revoke", `{"reason":"why"}`,
			"%d{user} of ann is revoked, {target}.", "jane ann %d{user} why"},
		{"POST", "/v1/users/ann/logins/lost/revoke", `{}`, "The object does not exist", "jane ann lost "},
	} {
		told = ""
		if w := ask(h, c.method, c.path, "admin", c.body); !strings.Contains(w.Body.String(), c.says) || told != c.told {
			t.Errorf("%s: %s, told %q", c.path, w.Body, told)
		}
	}
}
