package leader

import "fettle.dev/fettle/internal/fleet/assign"

// term computes assignments as long as a hub leads. Its fields belong to one goroutine.
type term struct {
	Config
	fence uint64
	queue *queue
	state *assign.State
	// revisions contains the compiled commits, each for the targets that were enrolled at that
	// time.
	revisions map[string]assign.Contents
	// versions contains what the content of compiled commits declares about versions.
	versions versions
	alarms   alarms
	rollouts deliveries
	// computed stores the result of each computation.
	computed func(assign.Output)
	progress progress
}
