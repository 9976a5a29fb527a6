// Package api is the HTTP interface of a hub for users and programs. The package route defines the
// routes. Each topic has a function that registers its handlers, and an interface of the part of the
// hub that it needs.
//
//	t := api.NewTable(view)
//	api.HandleTokens(t, accounts)
//	h := &api.Handler{Table: t, Authenticate: access.Of, Audit: trail.Append, Now: time.Now}
//	server := api.Server(h)
//
// # Default deny
//
// A request is first matched against the table. The matching row contains both the right and the
// handler, so no handler can be called without its right. A path has exactly one spelling:
// unnecessary escapes and empty or dotted segments are refused, and nothing is redirected. A client
// must authenticate before it learns that a path is not in the table.
//
// # Errors
//
// An error of a handler becomes a document.Problem. The errors of the package fleet and Refusal
// have their own status; other errors have the status 500.
package api
