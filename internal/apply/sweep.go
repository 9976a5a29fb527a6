package apply

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/move"
)

// sweep notes directories in which temporaries were removed.
func (r *run) sweep(dirs ...string) {
	for _, d := range dirs {
		r.swept[d] = true
	}
}

// sweepUp makes the removal of temporaries durable: once the run has ended,
// nobody looks for them again.
func (r *run) sweepUp() error {
	for _, temp := range r.left {
		if err := move.RemoveTemp(r.Host, temp); err != nil {
			r.note("could not remove what was set aside; remove it by hand: " + err.Error())
		}
	}
	r.left = nil
	if err := move.SyncDirs(r.Host, slices.Sorted(maps.Keys(r.swept))); err != nil {
		return err
	}
	clear(r.swept)
	return nil
}
