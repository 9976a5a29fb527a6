package api_test

import (
	"context"
	"strings"
	"testing"

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
