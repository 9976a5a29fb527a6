package apply

import (
	"maps"
	"slices"

	"fettle.dev/fettle/internal/move"
)

// sweep records directories in which temporary files were removed.
func (r *run) sweep(dirs ...string) {
	for _, d := range dirs {
		r.swept[d] = true
	}
}

// sweepUp removes the remaining temporary files and makes their removal durable. After the end of the
// run, no later command searches for them.
func (r *run) sweepUp() error {
	for _, temp := range r.left {
		if err := move.RemoveTemp(r.Host, temp); err != nil {
			r.note("could not remove a temporary file; remove it by hand: " + err.Error())
		}
	}
	r.left = nil
	if err := move.SyncDirs(r.Host, slices.Sorted(maps.Keys(r.swept))); err != nil {
		return err
	}
	clear(r.swept)
	return nil
}
