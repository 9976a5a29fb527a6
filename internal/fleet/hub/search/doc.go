// Package search finds objects of a fleet by a text: targets, modules, states of modules, commits, rollouts and runs.
//
//	x := search.NewIndex(search.IndexConfig{Store: store, States: compiler.States, Parts: view.PartsInUse, …})
//	go x.Run(ctx)
//	s := search.Service{Views: view, Rollouts: rollouts, Index: x}
//	page, err := s.Search(ctx, route.SearchQuery{Text: "/etc/nginx"}, now)
//
// States come from the source of the content that is assigned to active targets. A separate process with limits reads
// it. So a file of a path that only a target can compute is found by the text of its expression, and not by its path.
// The content of files, values of other attributes, and secrets are not part of the index.
//
//   - Absence: without assigned content, there are no states. An empty text finds nothing.
//   - Unknown: content that the hub does not have, or that cannot be read, is listed as incomplete.
//   - Repetition: content is read once, because its digest names it.
//   - Interruption: a search waits a few seconds for new content to be read. Then its result is incomplete.
//   - Failure: content that could not be read is read again after ten minutes.
//   - Bounds: the index has only assigned content, and at most 100,000 states. Two searches run at once. A further
//     search waits for its turn until its client gives up.
package search
