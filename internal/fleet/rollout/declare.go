package rollout

// strategy returns the strategy for a new rollout of a lane: the declaration of the newest commit, or the recorded one
// if this commit does not declare it any more.
func (t *turn) strategy(lane string, changes []Change) Strategy {
	if d, known := t.s.defined[lane]; known && !t.declares(lane) {
		return d.strategy()
	}
	s := t.w.Strategy(lane, changes)
	t.define(lane, s)
	return s
}

func (t *turn) declares(lane string) bool { return t.w.Declares == nil || t.w.Declares(lane) }

// define records the strategy of a lane, if it differs from the recorded one.
func (t *turn) define(lane string, s Strategy) {
	d := define(s)
	if was, known := t.s.defined[lane]; t.s.uses(lane) && t.declares(lane) && (!known || !was.same(d)) {
		t.note(Event{Kind: Defined, Lane: lane, Defined: &d})
	}
}

// defineNew records the strategies of lanes that have none yet.
func (t *turn) defineNew() {
	lanes := map[string]bool{}
	for _, lane := range t.s.lanes {
		lanes[lane] = true
	}
	for _, lane := range sortedLanes(lanes) {
		if _, known := t.s.defined[lane]; !known && t.declares(lane) {
			t.define(lane, t.w.Strategy(lane, nil))
		}
	}
}
