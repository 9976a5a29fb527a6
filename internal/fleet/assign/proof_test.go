package assign_test

import (
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

// An unchanged part keeps its revision together with its proof. A commit with another signer is a
// change: a target may trust only one of the two signers.
func TestProofsStayWithTheirRevision(t *testing.T) {
	bundle := func(c string) fleet.Bundle { return fleet.Bundle{Digest: "sha256:" + strings.Repeat(c, 64), Size: 1} }
	commit := func(c string) string { return strings.Repeat(c, 40) }
	targets := []fleet.Target{{ID: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Standing: fleet.Active}}
	contents := func(c, signer, top string) assign.Contents {
		return assign.Contents{
			Revision: fleet.Revision{Repository: "site", Commit: commit(c), Signer: signer},
			Enrolled: assign.EnrolledDigest(targets),
			Root:     bundle(top), Bundles: map[string]fleet.Bundle{"modules/web": bundle("0")},
			Proofs:  map[string]fleet.Bundle{"": bundle(c), "modules/web": bundle(c)},
			Targets: map[string]assign.Configured{"web1": {Modules: []assign.Module{{Directory: "modules/web"}}}},
		}
	}
	previous := map[fleet.TargetID]fleet.Assignment{}
	push := func(c, signer, top string) fleet.Assigned {
		out := assign.Compute(assign.Input{Now: 1, Epoch: 1, Branch: "main", Targets: targets, Previous: previous,
			Refs:      map[string]assign.Ref{"main": {Commit: commit(c)}},
			Revisions: map[string]assign.Contents{commit(c): contents(c, signer, top)}})
		for _, a := range out.Assignments {
			previous[a.Target] = a
		}
		return previous[targets[0].ID].Modules[0]
	}
	check := func(m fleet.Assigned, c string) {
		t.Helper()
		if m.Revision.Commit != commit(c) || m.Proof == nil || *m.Proof != bundle(c) {
			t.Errorf("at %.4s with the proof %v, not both of %s", m.Revision.Commit, m.Proof, c)
		}
	}
	check(push("a", "ann", "1"), "a")
	check(push("b", "ann", "2"), "a") // another top, the same module
	check(push("c", "", "3"), "c")    // nobody signed this one
	check(push("d", "ann", "4"), "d") // and ann signed what it has
	check(push("e", "ann", "4"), "d")
}
