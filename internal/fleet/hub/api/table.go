package api

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fettle.dev/fettle/internal/fleet/access"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
)

// Table contains the handler of each route. A Handler uses it from many goroutines, so it must not
// change afterwards.
type Table struct {
	targets TargetViews
	rows    []row
	missing map[string]bool // names of routes without a handler
	errs    []error         // of handlers that were not added
}

// row is a route and its handler.
type row struct {
	route.Row
	call func(*call) (any, error)
}

// NewTable returns a table without handlers. targets finds the targets that requests name.
func NewTable(targets TargetViews) *Table {
	t := &Table{targets: targets, missing: map[string]bool{}}
	for _, r := range route.All() {
		t.missing[r.Name()] = true
	}
	return t
}

// Missing returns the names of the routes without a handler, sorted.
func (t *Table) Missing() []string { return slices.Sorted(maps.Keys(t.missing)) }

// Complete returns an error unless each route has exactly one handler.
func (t *Table) Complete() error {
	errs := slices.Clone(t.errs)
	for _, name := range t.Missing() {
		errs = append(errs, fmt.Errorf("cannot answer %s: it has no handler. Register one with api.Handle", name))
	}
	return errors.Join(errs...)
}

// add appends a row, unless the route has a handler already or is not in the table of all routes.
func (t *Table) add(r route.Row, f func(*call) (any, error)) {
	if !t.missing[r.Name()] {
		t.errs = append(t.errs,
			fmt.Errorf("cannot handle %s: it has two handlers, or route.All does not return it", r.Name()))
		return
	}
	delete(t.missing, r.Name())
	t.rows = append(t.rows, row{r, f})
}

// Caller is the user of a request, and the time of the hub.
type Caller struct {
	access.Principal
	Now time.Time
	// Right is the right that the request needs.
	Right access.Right
}

// Handle registers the handler of a route. When it is called, the user has the right of the route,
// the values are read, and a change is recorded in the audit log.
func Handle[A, In, Out any](t *Table, r route.Route[A, In, Out],
	f func(ctx context.Context, c Caller, at A, in In) (Out, error)) {
	handleCall(t, r, func(c *call, at A) (any, error) { return f(c.r.Context(), c.caller(), at, inOf[In](c)) })
}

func (c *call) caller() Caller { return Caller{c.who, c.h.Now(), c.route.Right} }

// inOf returns the document of a request.
func inOf[In any](c *call) (in In) {
	if p, ok := c.in.(*In); ok {
		in = *p
	}
	return in
}

// handleCall registers a handler that writes the answer itself, or needs more than a Caller.
func handleCall[A, In, Out any](t *Table, r route.Route[A, In, Out], f func(c *call, at A) (any, error)) {
	t.add(r.Row, func(c *call) (any, error) {
		at, err := r.Values(c.path, c.query)
		if err != nil {
			return nil, err
		}
		return f(c, at)
	})
}

// HandleGet registers the handler of a route whose requests have no values.
func HandleGet[Out any](t *Table, r route.Route[route.None, route.None, Out],
	f func(ctx context.Context) (Out, error)) {
	Handle(t, r, func(ctx context.Context, _ Caller, _, _ route.None) (Out, error) { return f(ctx) })
}

// HandleGetAt registers the handler of a route whose requests have no document. Of the user, the handler only knows the
// organization, from the context.
func HandleGetAt[A, Out any](t *Table, r route.Route[A, route.None, Out],
	f func(ctx context.Context, at A) (Out, error)) {
	Handle(t, r, func(ctx context.Context, _ Caller, at A, _ route.None) (Out, error) { return f(ctx, at) })
}

// HandlePost registers the handler of a route whose requests have only a document.
func HandlePost[In, Out any](t *Table, r route.Route[route.None, In, Out],
	f func(ctx context.Context, c Caller, in In) (Out, error)) {
	Handle(t, r, func(ctx context.Context, c Caller, _ route.None, in In) (Out, error) { return f(ctx, c, in) })
}

// HandleDone registers the handler of a change that has no result. The answer is text, in which a name in braces is
// replaced by the value in the path, as in "The signal {signal} is sent."
func HandleDone[A, In any](t *Table, r route.Route[A, In, document.Done], text string,
	f func(ctx context.Context, c Caller, at A, in In) error) {
	handleCall(t, r, func(c *call, at A) (any, error) {
		var values []string
		for _, name := range r.InPath {
			values = append(values, "{"+name+"}", c.path[name])
		}
		return Done(f(c.r.Context(), c.caller(), at, inOf[In](c)), "%s", strings.NewReplacer(values...).Replace(text))
	})
}

// handleTarget registers the handler of a change of one target. said is the answer, with its name.
func handleTarget[In any](t *Table, r route.Route[route.TargetName, In, document.Done], said string,
	f func(ctx context.Context, c Caller, target document.Target, in In) error) {
	Handle(t, r, func(ctx context.Context, c Caller, at route.TargetName, in In) (document.Done, error) {
		return t.on(ctx, c, at.Target, said, func(target document.Target) error { return f(ctx, c, target, in) })
	})
}

// on performs an operation on a target, and answers with the text said.
func (t *Table) on(ctx context.Context, c Caller, name, said string,
	f func(document.Target) error) (document.Done, error) {
	d, err := t.find(ctx, c, name)
	if err != nil {
		return document.Done{}, err
	}
	return Done(f(d.Target), said, d.Target.Name)
}

// Done returns the answer of a successful operation, or its error.
func Done(err error, format string, args ...any) (document.Done, error) {
	return document.Done{Format: document.DoneFormat, Text: fmt.Sprintf(format, args...)}, err
}
