// Package route is the table of the operations of a hub's API. Each operation is defined once, as a
// function that returns a Route; the hub, the client and the description of the API use it.
//
//	done, err := client.Call(ctx, c, route.FreezeTarget(), route.TargetName{Target: "web1"}, r)
//	api.Handle(table, route.FreezeTarget(), freeze)
//
// # Types
//
// A Route has three types. A is a struct with the values in the path and the query, as the tags of
// its fields describe. In is the document in the request, and Out the document in the answer. None
// means that there is no such value.
package route

import (
	"reflect"

	"fettle.dev/fettle/internal/fleet/access"
)

// Open is the right of routes that need no authentication.
const Open access.Right = ""

// Route is one operation, with the types of its values.
type Route[A, In, Out any] struct{ Row }

// None is the type of values that do not exist.
type None struct{}

// Row is a route without its types.
type Row struct {
	Method string
	// Path has a segment in braces for each value.
	Path string
	// InPath contains the names of these values.
	InPath []string
	Right  access.Right
	Does   string // a sentence without its full stop
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
	// ReadOnly means that the route changes nothing, although its requests have a body.
	ReadOnly bool
	// Tenant means that the route serves users of an organization. Its handler must only use what the organization of the
	// user contains. Users of an organization can use no other route.
	Tenant bool
	// PerTarget means that the handler uses nothing except targets for which the user has the right of the route. So
	// users with grants can use it too.
	PerTarget bool
}

// Name returns the method and the path, such as "GET /v1/targets".
func (r Row) Name() string { return r.Method + " " + r.Path }

// Changes reports whether a route changes something, so that it is audited.
func (r Row) Changes() bool { return r.Method != "GET" && !r.ReadOnly }

// NewIn returns a pointer to a new value of the type of In, which must not be nil.
func (r Row) NewIn() any { return reflect.New(reflect.TypeOf(r.In)).Interface() }

func (r Route[A, In, Out]) get(right access.Right, path, does string) Route[A, In, Out] {
	return r.as("GET", right, path, does)
}

func (r Route[A, In, Out]) post(right access.Right, path, does string) Route[A, In, Out] {
	return r.as("POST", right, path, does)
}

// plain is the type of routes whose answer is text.
func (r Route[A, In, Out]) plain() Route[A, In, Out] {
	r.Plain = true
	return r
}

// readOnly is the type of routes that need a document in the request, and change nothing.
func (r Route[A, In, Out]) readOnly() Route[A, In, Out] {
	r.ReadOnly = true
	return r
}

// tenant is the type of routes that serve users of an organization.
func (r Route[A, In, Out]) tenant() Route[A, In, Out] {
	r.Tenant = true
	return r
}

// perTarget is the type of routes that serve users of an organization, also users with the right for some targets.
func (r Route[A, In, Out]) perTarget() Route[A, In, Out] {
	r.Tenant, r.PerTarget = true, true
	return r
}

func (r Route[A, In, Out]) stream() Route[A, In, Out] {
	r.Stream = true
	return r
}

func (r Route[A, In, Out]) upgrade() Route[A, In, Out] {
	r.Upgrade = true
	return r
}

func (Route[A, In, Out]) as(method string, right access.Right, path, does string) Route[A, In, Out] {
	inPath, query := parameters(reflect.TypeFor[A]())
	return Route[A, In, Out]{Row{Method: method, Path: path, InPath: inPath, Right: right, Does: does, Query: query,
		In: documentOf[In](), Out: documentOf[Out]()}}
}

// documentOf returns the zero value of a document, or nil for None.
func documentOf[T any]() any {
	var v T
	if _, none := any(v).(None); none {
		return nil
	}
	return v
}
