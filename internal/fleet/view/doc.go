// Package view is the read model of a hub: the content of its log and stores in a form for queries.
// It is a SQLite file. If it is deleted, the hub creates it again.
//
//	v, err := view.Open("/var/lib/fettle/hub/view.db", view.Options{})
//	go v.Follow(ctx, view.Sources{Log: log, Targets: targets, Assignments: assignments, Open: open})
//	page, err := v.Targets(ctx, view.TargetQuery{Select: []string{"label:env=prod"}, Now: time.Now()})
//
// # Sources
//
// The log contains reports of agents and events of hubs. A record and its position are written in
// the same transaction, so each record counts once. A repeated or late report has no effect,
// because the model has a newer number of its target. Targets and assignments come from stores and
// replace earlier values. The last contact with an agent is only in memory: heartbeats are never
// written.
//
// # Retention
//
// The model contains the newest Options.Events events of each target that are not older than
// Options.Age. Only the log and the options decide, so a new model gets the same rows.
package view
