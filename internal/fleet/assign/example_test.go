package assign_test

import (
	"fmt"
	"strings"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
)

func Example() {
	web1 := fleet.Target{ID: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Name: "web1", Labels: map[string]string{"role": "web"},
		Standing: fleet.Active}
	commit := strings.Repeat("a", 40)

	s := assign.NewState(1, "main")
	s.Fold(assign.Event{Rev: 1, Kind: assign.TargetEvent, Key: string(web1.ID), Target: &web1})
	s.Fold(assign.Event{Rev: 1, Kind: assign.RefEvent, Key: "main", Ref: &assign.Ref{Commit: commit}})

	// The hub asks a limited child for what these commits say, and gives the answer.
	fmt.Println(assign.Needed(s.Input(100, nil))[0] == commit)
	bundle := fleet.Bundle{Digest: "sha256:" + strings.Repeat("0", 64), Size: 1}
	revisions := map[string]assign.Contents{commit: {
		Revision: fleet.Revision{Repository: "site", Commit: commit},
		Enrolled: assign.EnrolledDigest([]fleet.Target{web1}),
		Root:     bundle,
		Bundles:  map[string]fleet.Bundle{"modules/web": bundle},
		Targets: map[string]assign.Configured{"web1": {Labels: web1.Labels,
			Modules: []assign.Module{{Directory: "modules/web", From: []string{"target group web"}}}}},
	}}

	out := assign.Compute(s.Input(100, revisions))
	for _, a := range out.Assignments {
		fmt.Println(a.Name, a.Epoch, a.Generation, a.Modules[0].Module)
	}
	fmt.Println(strings.Join(out.Why(web1.ID, "modules/web"), "\n"))
	s.ApplyOutput(out)
	fmt.Println(len(assign.Compute(s.Input(200, revisions)).Assignments))
	// Output:
	// true
	// web1 1 1 modules/web
	// web1 is active, with role=web
	// it follows main, which is at aaaaaaaaaaaa
	// modules/web is assigned by target group web
	// modules/web is at aaaaaaaaaaaa of main
	// the assignment is issued without delay
	// it gets generation 1 of epoch 1
	// 0
}
