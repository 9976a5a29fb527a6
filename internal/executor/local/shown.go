package local

import "fettle.dev/fettle/internal/journal"

// shown returns a function that reports whether a record of a run is a move that became
// visible and stayed visible. Other records are moves that were prevented by an outside
// change, were never made, or were reverted by the run itself.
func shown(recs []journal.Record) func(i int) bool {
	type at struct {
		change int
		path   string
	}
	done, results, last := map[int]bool{}, map[string]bool{}, map[at]int{}
	for i, rec := range recs {
		switch {
		case rec.Kind == journal.Done:
			done[rec.Batch] = true
		case rec.Kind == journal.Result && rec.Back && rec.Error == "" && rec.Path != "":
			last[at{rec.Change, rec.Path}] = i
		case rec.Kind == journal.Result && !rec.Back && rec.Error == "":
			results[rec.Path] = true
		}
	}
	for i, rec := range recs {
		if rec.Kind == journal.Move && rec.Back && done[rec.Batch] {
			k := at{rec.Change, rec.Path}
			last[k] = max(last[k], i)
		}
	}
	return func(i int) bool {
		rec := recs[i]
		return i >= last[at{rec.Change, rec.Path}] && (done[rec.Batch] || results[rec.Path])
	}
}
