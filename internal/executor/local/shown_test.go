package local

import (
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
)

// What a run undid is as if it had never been: a path that it removed and restored was
// not released by it.
func TestMovesThatStay(t *testing.T) {
	recs := []journal.Record{
		{Kind: journal.Begin},
		{Kind: journal.Move, Change: 1, Path: "/stays", Batch: 1},
		{Kind: journal.Move, Change: 2, Path: "/back", Batch: 1},
		{Kind: journal.Done, Batch: 1},
		{Kind: journal.Move, Change: 3, Path: "/never", Batch: 2},
		{Kind: journal.Move, Change: 4, Path: "/alone", Batch: 3},
		{Kind: journal.Result, Change: 4, Path: "/alone", Batch: 3},
		{Kind: journal.Move, Change: 5, Path: "/was-back", Batch: 4},
		{Kind: journal.Done, Batch: 4},
		{Kind: journal.Move, Change: 2, Path: "/back", Batch: 5, Back: true},
		{Kind: journal.Done, Batch: 5, Back: true},
		{Kind: journal.Move, Change: 1, Path: "/stays", Batch: 6, Back: true},
		{Kind: journal.Result, Change: 5, Path: "/was-back", Back: true},
		{Kind: journal.Move, Change: 6, Path: "/others", Batch: 7, To: new(image.Of(&image.File{Type: image.Absent}))},
		{Kind: journal.Note, Path: "/others", Text: "/others stays"},
		{Kind: journal.Done, Batch: 7},
	}
	visible := shown(recs)
	want := map[int]bool{1: true, 5: true}
	for i, rec := range recs {
		if rec.Kind == journal.Move && !rec.Back && visible(i) != want[i] {
			t.Errorf("the move of %s counts: %v", rec.Path, visible(i))
		}
	}
}

// TestUndoneIntents: a run that undid the change of an address did not find another image of it.
func TestUndoneIntents(t *testing.T) {
	const line, unit = "edit:/f#line:x", "unit:x"
	recs := []journal.Record{
		{Kind: journal.Begin},
		{Kind: journal.Intent, Change: 1, Addr: line},
		{Kind: journal.Move, Change: 1, Addr: line, Path: "/f", Batch: 1},
		{Kind: journal.Intent, Change: 2, Addr: "edit:/stays#line:x"},
		{Kind: journal.Move, Change: 2, Addr: "edit:/stays#line:x", Path: "/stays", Batch: 1},
		{Kind: journal.Intent, Change: 3, Addr: "meta:/never"},
		{Kind: journal.Done, Batch: 1},
		{Kind: journal.Result, Change: 4, Addr: unit},
		{Kind: journal.Result, Change: 5, Addr: "unit:stays"},
		{Kind: journal.Result, Change: 4, Addr: unit, Back: true},
		{Kind: journal.Move, Change: 1, Addr: line, Path: "/f", Batch: 2, Back: true},
		{Kind: journal.Done, Batch: 2, Back: true},
		{Kind: journal.Result, Change: 5, Addr: "unit:stays", Back: true, Error: "failed"},
	}
	visible := shown(recs)
	for i, want := range map[int]bool{1: false, 3: true, 5: false, 7: false, 8: true} {
		if visible(i) != want {
			t.Errorf("the change of %s counts: %t", recs[i].Addr, visible(i))
		}
	}
}

// TestAbsenceInAnUndoneRemoval: a run removed a directory, found that a path in it is absent, and restored the
// directory. The absence does not count, but a path that the run found before the removal does.
func TestAbsenceInAnUndoneRemoval(t *testing.T) {
	recs := []journal.Record{
		{Kind: journal.Begin},
		{Kind: journal.Adopted, Change: 1, Addr: "file:/d/before"},
		{Kind: journal.Move, Change: 2, Addr: "file:/d", Path: "/d", Batch: 1},
		{Kind: journal.Done, Batch: 1},
		{Kind: journal.Adopted, Change: 3, Addr: "file:/d/absent"},
		{Kind: journal.Adopted, Change: 4, Addr: "file:/beside"},
		{Kind: journal.Move, Change: 5, Addr: "file:/e", Path: "/e", Batch: 2},
		{Kind: journal.Done, Batch: 2},
		{Kind: journal.Adopted, Change: 6, Addr: "file:/e/absent"},
		{Kind: journal.Move, Change: 2, Addr: "file:/d", Path: "/d", Batch: 3, Back: true},
		{Kind: journal.Done, Batch: 3, Back: true},
	}
	visible := shown(recs)
	for i, want := range map[int]bool{1: true, 4: false, 5: true, 8: true} {
		if visible(i) != want {
			t.Errorf("the adoption of %s counts: %t", recs[i].Addr, visible(i))
		}
	}
}
