package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/internal/plan"
)

// TestHolds: a package that an administrator holds is not changed. What leaves the list stays, a rollback may skip it, and
// everything else is refused with the command that releases it. A step that says what becomes of the hold may change it.
func TestHolds(t *testing.T) {
	held := func(step, applied string, to image.Package) plan.Change {
		from := installed("1")
		from.Held = true
		return moves("nginx", plan.Update, step, applied, from, to)
	}
	for what, c := range map[string]struct {
		change plan.Change
		op     journal.Operation
		skip   bool
		action plan.Action
		says   string
	}{
		"free": {moves("nginx", plan.Update, "PKG nginx", "", installed("1"), installed("2")), journal.OpApply,
			false, plan.Update, ""},
		"the same version": {held("PKG nginx", "", installed("1")), journal.OpApply, false, plan.Update, ""},
		"leaves the list": {held("", "PKG nginx", image.Package{}), journal.OpApply, false, plan.Blocked,
			"an administrator holds it at 1, so it stays"},
		"another version": {held("PKG nginx version=2", "PKG nginx", installed("2")), journal.OpApply, false, plan.Update,
			"Release it with apt-mark unhold nginx, or put held = false into its state."},
		"a purge": {held("PKG nginx ensure=purged", "PKG nginx", image.Package{Purged: true}), journal.OpApply,
			false, plan.Update, "Release it with apt-mark unhold nginx."},
		"no change": {moves("nginx", plan.Adopt, "PKG nginx", "", image.Package{Version: "1", Held: true}, installed("2")),
			journal.OpApply, false, plan.Adopt, ""},
		"its step says so": {held("PKG nginx version=2 held=false", "", installed("2")), journal.OpApply, false,
			plan.Update, ""},
		"the old one said": {held("", "PKG nginx held=true", image.Package{}), journal.OpApply, false, plan.Update, ""},
		"a rollback": {held("", "PKG nginx", image.Package{}), journal.OpRollback, false, plan.Update,
			"This package is held"},
		"skipped, rollback": {held("", "PKG nginx", image.Package{}), journal.OpRollback, true, plan.Blocked,
			"release it with apt-mark unhold nginx"},
	} {
		p := &plan.Plan{Operation: c.op, Changes: []plan.Change{c.change}}
		problems := p.BlockHeld(c.skip)
		got := p.Changes[0]
		if said := got.Why + fmt.Sprint(problems.Err()); got.Action != c.action || !strings.Contains(said, c.says) ||
			(len(problems) > 0) != (c.action == plan.Update && c.says != "") {
			t.Errorf("%s: %s %s, %v", what, got.Action, got.Why, problems.Err())
		}
		if kept := what == "leaves the list"; got.Held != kept ||
			got.NeedsOperator() != (got.Action == plan.Blocked && !kept) {
			t.Errorf("%s: held %t, stuck %t", what, got.Held, got.NeedsOperator())
		}
	}
}
