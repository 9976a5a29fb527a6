package rollout

// maxPasses limits the passes of one Decide. A few passes are usual. If events undo each other because of an error,
// the hub that leads must not hang.
const maxPasses = 200

// Decide returns what happens now, and folds it into the state. The caller must store the events
// before it publishes an assignment that they permit; if it cannot, it must build the state again from
// the stored log. Decide with the same state, world and now has no further events.
func (s *State) Decide(w World, now int64) []Event {
	t := newTurn(s, w, now)
	t.forget()
	for n, before := 0, -1; n < maxPasses && before != len(t.log); n++ {
		before = len(t.log)
		t.move()
		t.defineNew()
		owing{t}.end()
		owing{t}.become()
		t.mark()
		for _, r := range s.Open() {
			t.observe(r)
		}
		t.mark()
		if !w.awaitsContents() {
			t.propose()
		}
		if !w.Resync {
			for _, r := range s.Open() {
				t.grant(r)
			}
			t.catchUp()
		}
	}
	t.wanted()
	if !w.Resync {
		t.absent()
	}
	return t.log
}

// observe handles everything about a rollout except grants.
func (t *turn) observe(r *Rollout) {
	t.membership(r)
	if t.w.Resync {
		return
	}
	for _, id := range t.ids(r) {
		t.verdict(r, id, r.Members[id])
	}
	t.breach(r)
	t.judgeGates(r)
	t.aborted(r)
	switch r.Phase {
	case Active:
		t.advance(r)
	case RollingBack:
		t.returned(r)
	}
}
