package apply

import (
	"fmt"
	"path"

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
		return ""
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
