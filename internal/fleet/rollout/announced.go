package rollout

import "slices"

// announced are the pieces of a rollout that is not complete yet.
type announced struct {
	rollout string
	pieces  int
	waves   []Wave
}

// add adds the next piece. Pieces that do not belong together have no effect.
func (a *announced) add(e Event) {
	if e.Created.Piece == 1 {
		a.waves = withoutMembers(e.Created.Waves)
	}
	if a.rollout != e.Rollout || a.pieces+1 != e.Created.Piece || len(a.waves) != len(e.Created.Waves) {
		return
	}
	a.pieces++
	for i, w := range e.Created.Waves {
		a.waves[i].Members = append(a.waves[i].Members, w.Members...)
	}
}

// withoutMembers returns the waves without their members.
func withoutMembers(waves []Wave) []Wave {
	out := slices.Clone(waves)
	for i := range out {
		out[i].Members = nil
	}
	return out
}
