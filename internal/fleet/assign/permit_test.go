package assign_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// A pin has its permit and the proof of its own commit. The proof of the branch belongs to another
// commit.
func TestPinsCarryPermitAndProof(t *testing.T) {
	bundle := func(c string) fleet.Bundle { return fleet.Bundle{Digest: "sha256:" + strings.Repeat(c, 64), Size: 1} }
	web1 := fleet.Target{ID: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Standing: fleet.Active}
	contents := func(c string) assign.Contents {
		return assign.Contents{
			Revision: fleet.Revision{Repository: "site", Commit: strings.Repeat(c, 40)},
			Enrolled: assign.EnrolledDigest([]fleet.Target{web1}), Root: bundle(c),
			Bundles: map[string]fleet.Bundle{"modules/web": bundle(c), "modules/db": bundle(c)},
			Proofs:  map[string]fleet.Bundle{"": bundle("1"), "modules/web": bundle(c), "modules/db": bundle(c)},
			Targets: map[string]assign.Configured{"web1": {Modules: []assign.Module{{Directory: "modules/web"},
				{Directory: "modules/db"}}}},
		}
	}
	old, present := strings.Repeat("a", 40), strings.Repeat("b", 40)
	assigned := func(p fleet.Pin) fleet.Assignment {
		target := web1
		target.Pin = &p
		out := assign.Compute(assign.Input{Now: 1, Epoch: 1, Branch: "main", Targets: []fleet.Target{target},
			Refs:      map[string]assign.Ref{"main": {Commit: present}, old: {Commit: old}},
			Revisions: map[string]assign.Contents{old: contents("a"), present: contents("b")}})
		if len(out.Assignments) != 1 {
			t.Fatalf("%+v", out)
		}
		return out.Assignments[0]
	}
	a := assigned(fleet.Pin{Module: "modules/web", Ref: old, Permit: "signed"})
	web, db := a.Modules[0], a.Modules[1]
	if web.Permit != "signed" || *web.Proof != bundle("a") || web.Revision.Commit != old {
		t.Errorf("%+v", web)
	}
	if db.Permit != "" || *db.Proof != bundle("b") || a.Root.Permit != "" {
		t.Errorf("%+v %+v", db, a.Root)
	}
	a = assigned(fleet.Pin{Ref: old, Permit: "signed"})
	for _, m := range append(a.Modules, a.Root) {
		if m.Permit != "signed" || m.Revision.Commit != old {
			t.Errorf("%+v", m)
		}
	}
}
