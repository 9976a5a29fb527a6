// Package document has the requests and answers of a hub's API, in the form in which they are sent.
// It has no logic: the read model fills the documents, the API serves them, clients read them.
//
//	page := document.TargetPage{Format: document.TargetPageFormat, Total: 1, Targets: []document.Target{t}}
//
// Times are nanoseconds since 1970 unless documented otherwise. Within a format, fields are only
// added, so a reader must ignore unknown fields. Lists are never null.
package document
