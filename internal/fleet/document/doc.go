// Package document holds what a hub's API answers and is asked, as it travels. It
// does nothing: the read model fills these, the API serves them, clients read them.
//
//	page := document.TargetPage{Format: document.TargetPageFormat, Total: 1, Targets: []document.Target{t}}
//
// Times are nanoseconds since 1970 where nothing else is said. Within a format fields are
// only added, so a reader ignores those that it does not know. Lists are never null.
package document
