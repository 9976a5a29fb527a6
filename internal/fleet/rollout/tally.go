package rollout

import "slices"

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

// Course is the numbers of members over time. It is bounded: the longer a rollout takes, the larger is Span. A rollout
// whose begin is in a snapshot of an older version has none.
type Course struct {
	Span    int64    `json:"span"`    // smallest time between two samples, in seconds
	Samples []Sample `json:"samples"` // sorted by time
	Marks   []Mark   `json:"marks,omitempty"`
}

// Sample is the numbers of members at a time. They are the same until the next sample, or differ for less than Span.
type Sample struct {
	At      int64 `json:"t"` // seconds since 1970
	Granted int   `json:"g"` // may have the change
	Ready   int   `json:"r,omitempty"`
	Failed  int   `json:"f,omitempty"` // or silent
}

// Mark is the time of an event about the whole rollout.
type Mark struct {
	At    int64 `json:"t"` // seconds since 1970
	Kind  Kind  `json:"k"`
	Wave  int   `json:"w,omitempty"`
	Phase Phase `json:"p,omitempty"` // the result
}

// mostSamples and mostMarks limit a course. The oldest marks are dropped.
const (
	mostSamples = 120
	mostMarks   = 40
)

// newCourse returns the course of a rollout that begins.
func newCourse(at int64) *Course { return &Course{Span: 1, Samples: []Sample{{At: at}}} }

// add adds a sample. A later sample of the same time span replaces an earlier one.
func (c *Course) add(s Sample) {
	if last := &c.Samples[len(c.Samples)-1]; len(c.Samples) > 1 && c.spanOf(*last) == c.spanOf(s) {
		*last = s
		return
	}
	c.Samples = append(c.Samples, s)
	for len(c.Samples) > mostSamples {
		c.Span *= 2
		all := c.Samples
		c.Samples = all[:1:1]
		for _, each := range all[1:] {
			c.add(each)
		}
	}
}

// spanOf returns the number of the time span of a sample.
func (c *Course) spanOf(s Sample) int64 { return (s.At - c.Samples[0].At) / c.Span }

// clone returns a course that shares no memory with c.
func (c *Course) clone() *Course {
	if c == nil {
		return nil
	}
	return &Course{Span: c.Span, Samples: slices.Clone(c.Samples), Marks: slices.Clone(c.Marks)}
}
