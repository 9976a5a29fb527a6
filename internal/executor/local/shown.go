package local

import (
	"slices"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// shown returns a function that reports whether a record of a run is a change that became visible and stayed
// visible. Other records are changes that were prevented by an outside change, were never made, or were
// undone by the run itself. The removal of a directory that stays for the files of others in it also changes
// nothing.
func shown(recs []journal.Record) func(i int) bool {
	v := visible{recs: recs, done: map[int]bool{}, results: map[string]bool{}, undone: map[changeAt]int{},
		stays: map[string]bool{}, parts: map[int]bool{}}
	for i, rec := range recs {
		v.note(i, rec)
	}
	for i, rec := range recs {
		if rec.Kind == journal.Move && rec.Back && v.done[rec.Batch] {
			k := changeAt{rec.Change, rec.Path}
			v.undone[k] = max(v.undone[k], i)
		}
	}
	for i, rec := range recs {
		if rec.Kind == journal.Move && !rec.Back && v.moved(i) {
			v.parts[rec.Change] = true
		}
	}
	return v.change
}

// visible is the effect of the records of a run.
type visible struct {
	recs    []journal.Record
	done    map[int]bool     // complete batches
	results map[string]bool  // paths with a successful result
	undone  map[changeAt]int // the record of the last undo
	stays   map[string]bool  // directories that stay for the files of others in them
	parts   map[int]bool     // changes with a visible move
}

// changeAt is a change and its path, which is "" for an address without a path.
type changeAt struct {
	change int
	path   string
}

func (v visible) note(i int, rec journal.Record) {
	switch {
	case rec.Kind == journal.Done:
		v.done[rec.Batch] = true
	case rec.Kind == journal.Result && rec.Back && rec.Error == "":
		v.undone[changeAt{rec.Change, rec.Path}] = i
	case rec.Kind == journal.Result && !rec.Back && rec.Error == "":
		v.results[rec.Path] = true
	case rec.Kind == journal.Note && rec.Path != "":
		v.stays[rec.Path] = true
	}
}

// moved reports whether a move became visible and stayed visible.
func (v visible) moved(i int) bool {
	rec := v.recs[i]
	if v.stays[rec.Path] && rec.To != nil && rec.To.File() != nil && rec.To.File().Type == image.Absent {
		return false
	}
	return i >= v.undone[changeAt{rec.Change, rec.Path}] && (v.done[rec.Batch] || v.results[rec.Path])
}

// change reports whether the change of a record stayed visible. The intent for a part of a file has moves of the
// whole file.
func (v visible) change(i int) bool {
	switch rec := v.recs[i]; {
	case rec.Kind == journal.Move:
		return v.moved(i)
	case rec.Kind == journal.Intent && ownsPart(rec.Addr):
		return v.parts[rec.Change]
	case rec.Kind == journal.Adopted && v.undoneBefore(i):
		return false
	default:
		return i >= v.undone[changeAt{rec.Change, rec.Path}]
	}
}

// undoneBefore reports whether the run had changed the path of a record, or a directory above it, before the
// record, and has undone this change. No other run found the image of the record.
func (v visible) undoneBefore(i int) bool {
	p := v.recs[i].Addr.Path()
	return p != "" && slices.ContainsFunc(v.recs[:i], func(rec journal.Record) bool {
		return rec.Kind == journal.Move && !rec.Back && (rec.Path == p || isBelow(p, rec.Path)) &&
			v.undone[changeAt{rec.Change, rec.Path}] > i
	})
}
