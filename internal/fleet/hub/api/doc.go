// Package api is the HTTP interface of a hub for users and programs. Its core is one table of
// routes, with the right and the documents of each.
//
//	h := &api.Handler{Backend: core, Authenticate: access.Of, Audit: trail.Append, Now: time.Now}
//	server := api.Server(h)
//
// # Default deny
//
// A request is first matched against the table. The matching row contains both the right and the
// function, so no function can be called without its right. A path has exactly one spelling:
// unnecessary escapes and empty or dotted segments are refused, and nothing is redirected. A client
// must authenticate before it learns that a path is not in the table.
//
// # Errors
//
// An error of a Backend becomes a document.Problem. The errors of the package fleet and Refusal
// have their own status; other errors have the status 500.
package api
