package assign_test

import (
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/lang/query"
)

// TestNeedsOfOneModule: uses in one directory are one module. Of their needs the highest level wins, and the need is
// a layer only if all of them are, in any order.
func TestNeedsOfOneModule(t *testing.T) {
	needs := []query.Need{{Directory: "modules/db", Level: "completion", Layer: true},
		{Directory: "modules/db", Level: "version"}, {Directory: "modules/db", Level: "availability", Layer: true}}
	for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {0, 2, 1}} {
		uses := []query.Use{{Directory: "modules/db"}}
		for _, i := range order {
			uses = append(uses, query.Use{Directory: "modules/web", Needs: needs[i : i+1]})
		}
		all := assign.TargetsOf([]query.Target{{Name: "web1", Uses: uses}})
		for _, m := range all["web1"].Modules {
			want := []fleet.Need{{Module: "modules/db", Level: fleet.Exact}}
			if m.Directory == "modules/web" && !slices.Equal(m.Needs, want) {
				t.Errorf("in the order %v: %+v", order, m.Needs)
			}
		}
	}
}

// TestFoldOfRemovals: the removal of a record that the state does not have changes nothing.
func TestFoldOfRemovals(t *testing.T) {
	s := assign.NewState(1, "main")
	for _, k := range []assign.EventKind{assign.TargetEvent, assign.PinEvent, assign.FreezeEvent, assign.BinaryEvent,
		assign.RefEvent, assign.ApprovalEvent, assign.ExportsEvent, assign.MinimumGenerationEvent,
		assign.AssignmentEvent} {
		s.Fold(assign.Event{Kind: k, Key: string(idOf("web1")), Rev: 1})
	}
	if in := s.Input(1, nil); len(in.Targets)+len(in.Pins)+len(in.Previous) > 0 {
		t.Errorf("%+v", in)
	}
}
