package view

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
)

// storedTarget is a target as the tables have it. The fields of document.Target that also depend on the contacts or on
// the time are incomplete.
type storedTarget struct {
	document.Target
	known
	pin  *fleet.Pin
	list int64 // of the modules in the assignment; 0 means that there is none
}

// gone reports whether the target left the fleet.
func (s *storedTarget) gone() bool { return s.Standing == fleet.Retired || s.Standing == fleet.Revoked }

// targetRows are the rows of all targets, for lists. Rows do not change: readers can have a row that was replaced. The
// zero value is empty. The lock listing protects the other fields, except changes.
type targetRows struct {
	listing sync.Mutex
	kept    map[int64]*storedTarget // by number
	sorted  []*storedTarget         // kept by name, or nil
	used    bool                    // kept was read since the last rest
	changes changes                 // since the last refresh
}

// reading reads the targets that match a condition.
type reading func(ctx context.Context, where string, f func(int64, storedTarget), args ...any) error

// refresh reads the changed rows into kept. It needs the lock listing.
func (r *targetRows) refresh(ctx context.Context, read reading) error {
	r.used = true
	// A client that leaves must not cause another reading of all rows.
	err := r.readChanged(context.WithoutCancel(ctx), read)
	if err != nil {
		r.changes.add(nil, true)
	}
	return err
}

// maxReplaced limits the changed rows for which the sorted rows are not sorted again.
const maxReplaced = 1000

func (r *targetRows) readChanged(ctx context.Context, read reading) error {
	all, changed := r.changes.take()
	if all || len(changed) > len(r.kept)/2 {
		r.kept, r.sorted = make(map[int64]*storedTarget, len(r.kept)), nil
		return read(ctx, "", r.keep)
	}
	if len(changed) == 0 {
		return nil
	}
	numbers, before := make([]int64, 0, len(changed)), make(map[int64]*storedTarget, len(changed))
	for n := range changed {
		numbers = append(numbers, n)
		before[n] = r.kept[n]
		delete(r.kept, n) // the row may not exist any more
	}
	list, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	err = read(ctx, "WHERE t.target IN (SELECT value FROM json_each(?))", r.keep, string(list))
	if err != nil || len(before) > maxReplaced {
		r.sorted = nil
	}
	for n, was := range before {
		r.replace(was, r.kept[n])
	}
	return err
}

// replace replaces a row in the sorted rows. nil is a missing row.
func (r *targetRows) replace(was, is *storedTarget) {
	if r.sorted == nil {
		return
	}
	if was != nil {
		i, _ := slices.BinarySearchFunc(r.sorted, was, compareRows)
		if is != nil && compareRows(was, is) == 0 {
			r.sorted[i] = is
			return
		}
		r.sorted = slices.Delete(r.sorted, i, i+1)
	}
	if is != nil {
		i, _ := slices.BinarySearchFunc(r.sorted, is, compareRows)
		r.sorted = slices.Insert(r.sorted, i, is)
	}
}

// sortedRows returns the rows by name. A target in the fleet precedes others of the same name. It needs the lock
// listing.
func (r *targetRows) sortedRows() []*storedTarget {
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.kept), compareRows)
	}
	return r.sorted
}

func compareRows(a, b *storedTarget) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), whether(a.gone(), b.gone()), cmp.Compare(a.ID, b.ID))
}

// keep stores a row. Readers can have the row before it, so rows do not change.
func (r *targetRows) keep(n int64, s storedTarget) { r.kept[n] = &s }

// rest frees the rows, unless a list was read since the last call: an open page reads them again soon.
func (r *targetRows) rest() (used bool) {
	r.listing.Lock()
	defer r.listing.Unlock()
	if used, r.used = r.used, false; !used {
		r.kept, r.sorted = nil, nil
		r.changes.add(nil, true)
	}
	return used
}
