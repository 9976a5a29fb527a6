// Package view is a hub's read model: what its log and stores say, in a form that can be
// asked. It is a SQLite file that can be deleted at any time and is made again.
//
//	v, err := view.Open("/var/lib/fettle/hub/view.db", view.Options{})
//	go v.Follow(ctx, view.Sources{Log: log, Targets: targets, Assignments: assignments, Open: open})
//	page, err := v.Targets(ctx, view.TargetQuery{Select: []string{"label:env=prod"}, Now: time.Now()})
//
// # What it is made of
//
// Records of the log are reports of agents and events of hubs; the position in the log is
// written in the same transaction as what they say, so each counts once. A report that
// comes twice, or late, does no harm: its target has a newer number. Targets and
// assignments come from stores and replace what was there. When and whether an agent was
// heard of last is only in memory: heartbeats are written nowhere.
//
// # How much it keeps
//
// Of each target the newest Options.Events events, and none that is older than
// Options.Age. What decides is in the log, so a model that was made again has the same
// rows.
package view
