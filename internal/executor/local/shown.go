package local

import (
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// shown returns a function that reports whether a record of a run is a move that became
// visible and stayed visible. Other records are moves that were prevented by an outside
// change, were never made, or were reverted by the run itself. The removal of a directory that
// stays for the files of others in it also changes nothing.
func shown(recs []journal.Record) func(i int) bool {
	type at struct {
		change int
		path   string
	}
	done, results, last, stays := map[int]bool{}, map[string]bool{}, map[at]int{}, map[string]bool{}
	for i, rec := range recs {
		switch {
		case rec.Kind == journal.Done:
			done[rec.Batch] = true
		case rec.Kind == journal.Result && rec.Back && rec.Error == "" && rec.Path != "":
			last[at{rec.Change, rec.Path}] = i
		case rec.Kind == journal.Result && !rec.Back && rec.Error == "":
			results[rec.Path] = true
		case rec.Kind == journal.Note && rec.Path != "":
			stays[rec.Path] = true
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
		if stays[rec.Path] && rec.To != nil && rec.To.File != nil && rec.To.File.Type == image.Absent {
			return false
		}
		return i >= last[at{rec.Change, rec.Path}] && (done[rec.Batch] || results[rec.Path])
	}
}
