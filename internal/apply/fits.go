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

// fits returns an error if the records do not belong to a run of this plan. Checksums detect changes
// of the records but not their author, so recovery ignores records that do not match.
func fits(recs []journal.Record, p *plan.Plan) error {
	for _, rec := range recs {
		if why := misfit(rec, p); why != "" {
			return fmt.Errorf("its journal does not match its plan: record %d %s; compare the host with fettle show, restore the state directory from a backup, then run fettle recover again", rec.Seq, why)
		}
	}
	return nil
}

// misfit returns the reason why a record does not match the plan, or "".
func misfit(rec journal.Record, p *plan.Plan) string {
	switch rec.Kind {
	case journal.Move, journal.Intent, journal.Result, journal.Pending, journal.Fired:
	default:
		return ""
	}
	if rec.Change < 0 || rec.Change >= len(p.Changes) {
		return fmt.Sprintf("refers to change %d, and the plan has %d changes", rec.Change, len(p.Changes))
	}
	if rec.Kind != journal.Move {
		return misfitImages(rec)
	}
	switch {
	case rec.From == nil || rec.To == nil || rec.From.File() == nil || rec.To.File() == nil:
		return "moves a file without both recorded states"
	case rec.Addr != p.Changes[rec.Change].Addr:
		return fmt.Sprintf("moves %s, and the plan has %s", rec.Addr, p.Changes[rec.Change].Addr)
	case rec.Path != path.Clean(rec.Path) || !path.IsAbs(rec.Path):
		return fmt.Sprintf("moves %q, which is not a clean absolute path", rec.Path)
	case rec.Temp != "" && !move.IsTemp(path.Base(rec.Temp)):
		return fmt.Sprintf("names %q as a temporary file, and fettle gives no such name", rec.Temp)
	}
	return ""
}

// misfitImages checks the images of a change that is not a path: they must have the kind of their
// address, and an account needs both images.
func misfitImages(rec journal.Record) string {
	kind := rec.Addr.Kind()
	for _, i := range []*image.Image{rec.From, rec.To} {
		if i == nil {
			continue
		}
		if !i.Fits(kind) {
			return fmt.Sprintf("gives %s a state of another kind", rec.Addr)
		}
	}
	account := kind == addr.KindUser || kind == addr.KindGroup || kind == addr.KindMember
	if account && rec.Kind == journal.Intent && (rec.From == nil) != (rec.To == nil) {
		return fmt.Sprintf("changes %s without both recorded states", rec.Addr)
	}
	return ""
}
