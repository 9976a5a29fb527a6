package rollout

import "slices"

// move records the lanes of targets, and changes their lanes in the world.
func (t *turn) move() {
	first, changed := map[string][]ID{}, map[string][]ID{}
	for _, id := range t.targets {
		target := t.w.Targets[id]
		switch known := t.s.lanes[id]; {
		case target.Chosen == known || target.Chosen == "":
		case known == "" && inWaves(target.Chosen):
			first[target.Chosen] = append(first[target.Chosen], id)
		case known != "" && t.moves(id, target, known):
			changed[target.Chosen] = append(changed[target.Chosen], id)
		}
	}
	t.record(first, "")
	t.record(changed, "they have the content that selects it")
}

// moves reports whether a target leaves its recorded lane: it has its whole desired content, its root part has passed a
// rollout, and no rollout is judging it.
func (t *turn) moves(id ID, target Target, known string) bool {
	switch {
	case branchOf(known) != branchOf(target.Chosen), target.New:
		return true
	case len(target.Wants) > 0:
		return false
	}
	return !t.s.participates(id) && t.s.passed(known, t.w.Has(id, RootPart))
}

// forget removes the lanes of targets that are not active any more.
func (t *turn) forget() {
	var gone []ID
	for id := range t.s.lanes {
		if _, ok := t.w.Targets[id]; !ok {
			gone = append(gone, id)
		}
	}
	slices.Sort(gone)
	t.record(map[string][]ID{"": gone}, "")
}

// record notes the new lanes of targets.
func (t *turn) record(lanes map[string][]ID, why string) {
	for _, lane := range sortedLanes(lanes) {
		for ids := range slices.Chunk(lanes[lane], PieceSize) {
			t.note(Event{Kind: Moved, Lane: lane, Targets: ids, Why: why})
		}
		for _, id := range lanes[lane] {
			if target, ok := t.w.Targets[id]; ok {
				if target.Lane = t.s.Lane(id, target.Chosen); target.Lane == "" {
					target.Wants = nil // it gets them at once
				}
				t.w.Targets[id] = target
			}
		}
	}
}
