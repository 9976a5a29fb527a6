package rollout

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

// announce adds a piece. The first piece replaces the pieces that a hub did not complete.
func (s *State) announce(e Event) {
	if e.Created.Piece == 1 {
		s.announced = announced{rollout: e.Rollout}
	}
	s.announced.add(e)
}

// whole returns the plan of a created event with the members of its pieces.
func (s *State) whole(e Event) Plan {
	plan := *e.Created
	if plan.Piece > 1 {
		s.announced.add(e)
		plan.Waves = s.announced.waves
	}
	s.announced, plan.Piece = announced{}, 0
	return plan
}
