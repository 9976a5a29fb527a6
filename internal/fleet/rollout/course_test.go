package rollout_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// lastSample returns the last sample of a rollout.
func lastSample(r *rollout.Rollout) rollout.Sample { return r.Course.Samples[len(r.Course.Samples)-1] }

// TestCourse: the numbers of members over time begin at zero and end with the numbers of the result. The beginnings of
// waves and the result are marked. A snapshot keeps them.
func TestCourse(t *testing.T) {
	f := begun(t, 8)
	f.head["web"] = "w2"
	f.until(t, "the end", func() bool { return f.s.Rollouts["r2"] != nil && f.phase("r2").Final() })
	r := f.s.Rollouts["r2"]
	if first := r.Course.Samples[0]; first != (rollout.Sample{At: r.At}) {
		t.Errorf("it begins with %+v", first)
	}
	if last := lastSample(r); last.Granted != 8 || last.Ready != 8 || last.Failed != 0 {
		t.Errorf("it ends with %+v", last)
	}
	waves := []int{}
	for _, m := range r.Course.Marks {
		if m.Kind == rollout.Advanced {
			waves = append(waves, m.Wave)
		}
	}
	if end := r.Course.Marks[len(r.Course.Marks)-1]; end.Phase != rollout.Completed || end.At != lastSample(r).At {
		t.Errorf("the last mark is %+v", end)
	}
	if !reflect.DeepEqual(waves, []int{1, 2}) {
		t.Errorf("the waves %v begin", waves)
	}
	before := r.Course
	if f.restart(); f.cut == 0 || !reflect.DeepEqual(f.s.Rollouts["r2"].Course, before) {
		t.Errorf("after a snapshot: %+v", f.s.Rollouts["r2"].Course)
	}
}

// TestLongCourse: the course of a rollout with very many changes has few samples, in order, and is exact at its end.
func TestLongCourse(t *testing.T) {
	s := rollout.NewState()
	s.Fold(rollout.Event{Rollout: "r1", At: 50, Kind: rollout.Created, Created: &rollout.Plan{Lane: "main",
		Waves: []rollout.Wave{{Name: "all", Members: []rollout.ID{"a", "b"}}}}})
	kinds := []rollout.Kind{rollout.Granted, rollout.Ready, rollout.Failed}
	at := int64(0)
	for i := range 100_000 {
		at = 50 + int64(i)*7
		s.Fold(rollout.Event{Rollout: "r1", At: at, Kind: kinds[i%3], Target: "a"})
		if i%100 == 0 {
			s.Fold(rollout.Event{Rollout: "r1", At: at, Kind: rollout.Paused})
		}
	}
	s.Fold(rollout.Event{Rollout: "r1", At: at, Kind: rollout.Ready, Target: "a"})
	s.Fold(rollout.Event{Rollout: "r1", At: 10, Kind: rollout.Granted, Target: "b"}) // the clock was set back
	c := s.Rollouts["r1"].Course
	text, err := json.Marshal(c)
	if n := len(c.Samples); err != nil || n < 50 || n > 120 || len(c.Marks) > 40 || len(text) > 8000 {
		t.Errorf("it has %d samples, %d marks and %d bytes: %v", n, len(c.Marks), len(text), err)
	}
	for i, each := range c.Samples[1:] {
		if each.At < c.Samples[i].At {
			t.Fatalf("sample %d is before the previous one", i+1)
		}
	}
	if last := lastSample(s.Rollouts["r1"]); last != (rollout.Sample{At: at, Granted: 2, Ready: 1}) {
		t.Errorf("the last sample is %+v", last)
	}
}

// TestUnknownCourse: a rollout of a snapshot without a course has none, also after more events.
func TestUnknownCourse(t *testing.T) {
	s := rollout.Snapshot{Rollouts: []*rollout.Rollout{{ID: "r1", Phase: rollout.Aborted}}}.State()
	s.Fold(rollout.Event{Rollout: "r1", At: 9, Kind: rollout.Unwanted})
	if c := s.Rollouts["r1"].Course; c != nil {
		t.Errorf("the course is %+v", c)
	}
}
