package rollout

import "slices"

// PieceSize is the maximum number of members in one event of the log.
const PieceSize = 20_000

// Pieces returns the events that replace a created event with more members than one event can contain:
// announced events with most of the members, followed by the created event with the rest. The rollout
// exists from the created event on. Pieces without their created event have no effect, because the hub stopped
// between them. Other events are returned unchanged.
func (e Event) Pieces() []Event {
	if e.Created == nil || e.Created.size() <= PieceSize {
		return []Event{e}
	}
	var out []Event
	for i, waves := range pieces(e.Created.Waves) {
		out = append(out, Event{Rollout: e.Rollout, At: e.At, Kind: Announced,
			Created: &Plan{Waves: waves, Piece: i + 1}})
	}
	last := *e.Created
	last.Waves, last.Piece = out[len(out)-1].Created.Waves, len(out)
	e.Created = &last
	out[len(out)-1] = e
	return out
}

// size returns the number of members of all waves.
func (p *Plan) size() (n int) {
	for _, w := range p.Waves {
		n += len(w.Members)
	}
	return n
}

// pieces distributes the members of waves to pieces, which have all waves.
func pieces(waves []Wave) [][]Wave {
	out := [][]Wave{withoutMembers(waves)}
	free := PieceSize
	for i, w := range waves {
		for rest := w.Members; len(rest) > 0; {
			if free == 0 {
				out, free = append(out, withoutMembers(waves)), PieceSize
			}
			n := min(len(rest), free)
			out[len(out)-1][i].Members, rest = rest[:n:n], rest[n:]
			free -= n
		}
	}
	return out
}

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
