package local

import (
	"fmt"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// history reads what the runs after a goal found: images of addresses, and paths.
// Before the first run the origins tell everything, also when journals are gone.
func (x *planner) history(goal journal.State, last int) (map[addr.Addr]image.Image, *past, error) {
	before, p := befores{}, newPast(x.kept)
	if goal.Run == 0 {
		return before, p, nil
	}
	adopted, managed, same := befores{}, managedIn(goal), sameState{goal.Run: true}
	for run := goal.Run + 1; run <= last; run++ {
		recs, err := x.store.Read(run)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the journal of run %d: %w", run, err)
		}
		if n := len(recs); n > 0 && recs[n-1].Kind == journal.Undone {
			continue
		}
		did, err := x.actions(recs)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot read the plan of run %d: %w", run, err)
		}
		visible, restored := shown(recs), same.restoredBy(recs, did)
		p.again = same[run]
		for i, rec := range recs {
			action := did.of(rec.Change)
			if action == plan.Repair && !managed[rec.Addr] {
				action = plan.Update // the applied state is newer than the goal
			}
			if visible(i) {
				p.move(rec, action, restored)
			}
			switch {
			case !tellsBefore(rec) || !visible(i) || ownsPart(rec.Addr) && p.files[rec.Addr.Path()]:
				// its run undid it, or it is a part of a file that was another one before
			case rec.Kind == journal.Adopted && ownsPart(rec.Addr):
				adopted.add(rec.Addr, *rec.From, *rec.From)
			default:
				before.add(rec.Addr, adopted.or(rec, action == plan.Repair || restored), *rec.From)
			}
		}
	}
	return before, p, nil
}

// befores are the first images that runs found, by address.
type befores map[addr.Addr]image.Image

// add adds an image that a run found, if no earlier run found one.
func (b befores) add(a addr.Addr, first, found image.Image) {
	if known, ok := b[a]; ok {
		first = known
	}
	b[a] = withHome(first, found)
}

// or returns the adopted image of the part of a file that a run changes. If it was not adopted, the
// result is the image that the run found. A repair and a rollback to the same goal count with the image
// that they restored. An adopted part that no run changes has no image before.
func (b befores) or(rec journal.Record, restored bool) image.Image {
	if known, ok := b[rec.Addr]; ok {
		return known
	}
	if restored && ownsPart(rec.Addr) && rec.To != nil {
		return *rec.To
	}
	return *rec.From
}

// managedIn returns the addresses that a state manages.
func managedIn(st journal.State) map[addr.Addr]bool {
	out := make(map[addr.Addr]bool, len(st.Entries))
	for _, e := range st.Entries {
		out[e.Addr] = true
	}
	return out
}

// tellsBefore reports whether a record has the before-image of an address other than a
// file. Moves of a region or of metadata have the before-image of the whole path; their
// intents have the before-image of the address.
func tellsBefore(rec journal.Record) bool {
	if rec.From == nil || rec.Back {
		return false
	}
	switch rec.Kind {
	case journal.Adopted:
		return rec.Addr.Kind() != addr.KindFile
	case journal.Intent:
		return rec.Addr.Kind() == addr.KindEdit || rec.Addr.Kind() == addr.KindMeta
	case journal.Result:
		return rec.Addr.Kind() != addr.KindEdit && rec.Addr.Kind() != addr.KindMeta && rec.Addr != ""
	}
	return false
}

// withHome adds the image of a later removed home directory to the first image of an
// account.
func withHome(first, later image.Image) image.Image {
	if first.User() == nil || !first.User().Present || first.User().HomeDir != nil || later.User() == nil ||
		later.User().Home != first.User().Home {
		return first
	}
	u := *first.User()
	u.HomeDir = later.User().HomeDir
	return image.Of(&u)
}
