package rollout

// tally contains the numbers of members of a rollout, without zeros. Each event about a member updates it.
type tally struct {
	inWave  map[waveState]int // also for allWaves
	changed map[MemberState]int
}

type waveState struct {
	wave  int
	state MemberState
}

// allWaves is a number of a wave that means all waves.
const allWaves = -1

// newTally counts all members.
func newTally(all map[ID]*Member) tally {
	t := tally{map[waveState]int{}, map[MemberState]int{}}
	for _, m := range all {
		t.add(m, 1)
	}
	return t
}

// add adds a member, or removes it if n is -1.
func (t tally) add(m *Member, n int) {
	if m == nil {
		return
	}
	plus(t.inWave, waveState{m.Wave, m.State}, n)
	plus(t.inWave, waveState{allWaves, m.State}, n)
	if !m.Lost {
		plus(t.changed, m.State, n)
	}
}

func plus[K comparable](m map[K]int, key K, n int) {
	if m[key] += n; m[key] == 0 {
		delete(m, key)
	}
}
