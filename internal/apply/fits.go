package apply

import (
	"fmt"
	"path"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/internal/plan"
)

// fits tells whether the records are of a run of this plan. Checksums show that
// nothing changed since they were written, and not who wrote them: what does not
// fit is not acted upon.
func fits(recs []journal.Record, p *plan.Plan) error {
	for _, rec := range recs {
		if why := misfit(rec, p); why != "" {
			return fmt.Errorf("its journal does not fit its plan: record %d %s; look at the machine, restore the state directory from a backup, and run fettle recover again", rec.Seq, why)
		}
	}
	return nil
}

// misfit says what is wrong with one record, "" when nothing is.
func misfit(rec journal.Record, p *plan.Plan) string {
	switch rec.Kind {
	case journal.Move, journal.Intent, journal.Result, journal.Pending, journal.Fired:
	default:
		return ""
	}
	if rec.Change < 0 || rec.Change >= len(p.Changes) {
		return fmt.Sprintf("is about change %d of %d", rec.Change, len(p.Changes))
	}
	if rec.Kind != journal.Move {
		return misfitImages(rec)
	}
	switch {
	case rec.From == nil || rec.To == nil || rec.From.File == nil || rec.To.File == nil:
		return "moves a file and does not say from what to what"
	case rec.Addr != p.Changes[rec.Change].Addr:
		return fmt.Sprintf("moves %s where the plan has %s", rec.Addr, p.Changes[rec.Change].Addr)
	case rec.Path != path.Clean(rec.Path) || !path.IsAbs(rec.Path):
		return fmt.Sprintf("moves %q, which is no path", rec.Path)
	case rec.Temp != "" && !move.IsTemp(path.Base(rec.Temp)):
		return fmt.Sprintf("says that %q is a temporary file", rec.Temp)
	}
	return ""
}

// misfitImages says what is wrong with the images of a change that is no path:
// they are of what its address names, and an account tells both.
func misfitImages(rec journal.Record) string {
	kind := rec.Addr.Kind()
	for _, i := range []*image.Image{rec.From, rec.To} {
		if i == nil {
			continue
		}
		if own, is := imageOf(kind, *i); is && !own {
			return fmt.Sprintf("says of %s what it cannot be", rec.Addr)
		}
	}
	account := kind == addr.KindUser || kind == addr.KindGroup || kind == addr.KindMember
	if account && rec.Kind == journal.Intent && (rec.From == nil) != (rec.To == nil) {
		return fmt.Sprintf("changes %s and does not say from what to what", rec.Addr)
	}
	return ""
}

// imageOf tells whether an image is of that kind of address; is is false for
// kinds whose images can be of another thing.
func imageOf(kind addr.Kind, i image.Image) (own, is bool) {
	switch kind {
	case addr.KindUser:
		return i.User != nil, true
	case addr.KindGroup:
		return i.Group != nil, true
	case addr.KindMember:
		return i.Member != nil, true
	case addr.KindPkg:
		return i.Package != nil, true
	case addr.KindUnit:
		return i.Unit != nil, true
	case addr.KindSysctl:
		return i.Sysctl != nil, true
	}
	return false, false
}
