// Package api is a hub's HTTP interface for people and programs: one table of routes,
// the right that each needs, and what goes in and out.
//
//	h := &api.Handler{Backend: core, Authenticate: access.Of, Audit: trail.Append, Now: time.Now}
//	server := api.Server(h)
//
// # Default deny
//
// A request is matched against the table before anything else is done with it: the match
// gives the right and what is called, so neither can be had without the other. A path has
// one spelling: escapes that were not needed, empty and dotted segments are refused, and
// nothing is redirected. Who asks for what is not in the table learns that only after
// having said who it is.
//
// # Errors
//
// What a Backend returns becomes a document.Problem. The errors of fleet's ports and
// Refusal have a status of their own; everything else is 500.
package api
