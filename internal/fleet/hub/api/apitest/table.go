package apitest

import (
	"context"
	"reflect"
	"slices"

	"fettle.dev/fettle/internal/fleet/hub/api"
	"fettle.dev/fettle/internal/fleet/route"
)

// Backend is everything that the handlers of package api need.
type Backend interface {
	api.ThisHub
	api.Summary
	api.TargetViews
	api.Members
	api.Registry
	api.Organizations
	api.Suspicions
	api.TargetFreezes
	api.FleetFreezes
	api.Executors
	api.ModuleViews
	api.Assignments
	api.EventViews
	api.Jobs
	api.Binaries
	api.Exemptions
	api.Environments
	api.Requests
}

// Table returns the handlers of package api for a backend. The other routes, whose handlers are in the parts of a hub,
// have an example as their answer.
func Table(b Backend) *api.Table {
	t := handlers(b)
	missing := t.Missing()
	for _, r := range route.All() {
		if slices.Contains(missing, r.Name()) {
			api.Handle(t, route.Route[route.None, any, any]{Row: r},
				func(context.Context, api.Caller, route.None, any) (any, error) { return example(r.Out), nil })
		}
	}
	return t
}

// Examples returns the names of the routes that have an example as their answer.
func Examples(b Backend) []string { return handlers(b).Missing() }

// handlers returns the table of the handlers of package api.
func handlers(b Backend) *api.Table {
	t := api.NewTable(b)
	api.HandleThisHub(t, b)
	api.HandleStatus(t, b, b)
	api.HandleTargets(t, b)
	api.HandleFreezes(t, b)
	api.HandleExecutors(t, b)
	if r, ok := b.(interface {
		api.Runs
		api.Comparisons
	}); ok {
		api.HandleRuns(t, r)
	} else {
		api.HandleRuns(t, Runs{})
	}
	api.HandleModules(t, b)
	api.HandleAssignments(t, b, Locks{})
	api.HandleEvents(t, b)
	api.HandleJobs(t, b)
	api.HandleRollouts(t, Rollouts{})
	api.HandleExemptions(t, b)
	api.HandleEnvironments(t, b)
	api.HandleBinaries(t, b)
	api.HandleRequests(t, b)
	return t
}

// example returns a document with a format, and with empty lists and maps.
func example(zero any) any {
	d := reflect.New(reflect.TypeOf(zero)).Elem()
	fill(d)
	return d.Interface()
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Name == "Format" {
				v.Field(i).SetString("fettle.example/1")
			}
			fill(v.Field(i))
		}
	}
}
