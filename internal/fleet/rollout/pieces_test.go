package rollout_test

import (
	"fmt"
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// createdOf returns the created event of a rollout of n members.
func createdOf(n int, id string) rollout.Event {
	members := make([]rollout.ID, n)
	for i := range members {
		members[i] = rollout.ID(fmt.Sprintf("h%06d", i))
	}
	s := rollout.Careful()
	return rollout.Event{Rollout: id, At: 7, Kind: rollout.Created, Created: &rollout.Plan{Lane: "main", Cause: "a test",
		Changes: []rollout.Change{{Part: "web", Digest: "w1"}}, Strategy: s, Waves: s.Distribute(members, id)}}
}

func folded(all ...rollout.Event) *rollout.State {
	s := rollout.NewState()
	for _, e := range all {
		s.Fold(e)
	}
	return s
}

// The pieces of a created event have the same effect as the event, also after pieces that were stored without
// their created event. Such pieces alone have no effect.
func TestPieces(t *testing.T) {
	for n, count := range map[int]int{1: 1, rollout.PieceSize: 1, rollout.PieceSize + 1: 2, 2*rollout.PieceSize + 1: 3} {
		whole := createdOf(n, "r1")
		pieces := whole.Pieces()
		if len(pieces) != count {
			t.Errorf("%d members have %d pieces instead of %d", n, len(pieces), count)
		}
		want := folded(whole)
		if !reflect.DeepEqual(folded(pieces...), want) {
			t.Errorf("the pieces of %d members have another effect", n)
		}
		begun := createdOf(n+rollout.PieceSize, "r1").Pieces()
		for i := range begun {
			cut := begun[:i]
			if s := folded(cut...); len(s.Rollouts) > 0 {
				t.Errorf("%d pieces of %d are a rollout", i, len(begun))
			}
			if !reflect.DeepEqual(folded(append(cut[:i:i], pieces...)...), want) {
				t.Errorf("%d members: %d earlier pieces have an effect", n, i)
			}
		}
	}
}

// Pieces that do not belong together have no effect.
func TestPiecesOfOthers(t *testing.T) {
	a, b := createdOf(3*rollout.PieceSize, "r1").Pieces(), createdOf(3*rollout.PieceSize, "r2").Pieces()
	s := folded(a[0], b[1], a[2], rollout.Event{Rollout: "r3", Kind: rollout.Announced})
	if n := len(s.Rollouts["r1"].Members); n != rollout.PieceSize || len(s.Rollouts) != 1 {
		t.Errorf("%d members of %d rollouts", n, len(s.Rollouts))
	}
	other := *b[1].Created
	other.Waves = other.Waves[:1]
	b[1].Created = &other
	if s := folded(b...); len(s.Rollouts["r2"].Members) != rollout.PieceSize {
		t.Errorf("a piece with other waves has an effect: %d members", len(s.Rollouts["r2"].Members))
	}
}
