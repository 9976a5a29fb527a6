package assignments

import (
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// TestProvesLoss: only an assignment that no hub of the store can have issued proves a loss.
func TestProvesLoss(t *testing.T) {
	epoch := records.Epoch{}
	for _, number := range []uint64{10, 20, 30} {
		epoch = epoch.Next(records.Epoch{Number: number})
	}
	record := func(epoch, generation uint64, before fleet.Have) records.Assignment {
		return records.Assignment{Assignment: fleet.Assignment{Epoch: epoch, Generation: generation}, Before: before}
	}
	last := fleet.Have{Epoch: 10, Generation: 5}
	for name, c := range map[string]struct {
		have fleet.Have
		had  records.Assignment
		want bool
	}{
		"no assignment":                    {fleet.Have{}, record(30, 1, last), false},
		"the same":                         {fleet.Have{Epoch: 30, Generation: 1}, record(30, 1, last), false},
		"an earlier one":                   {fleet.Have{Epoch: 10, Generation: 4}, record(30, 1, last), false},
		"the last one":                     {last, record(30, 1, last), false},
		"after the last one":               {fleet.Have{Epoch: 10, Generation: 6}, record(30, 1, last), true},
		"in an epoch between":              {fleet.Have{Epoch: 20, Generation: 1}, record(30, 1, last), true},
		"the last one is unknown":          {fleet.Have{Epoch: 20, Generation: 1}, record(30, 1, fleet.Have{}), false},
		"in the same epoch":                {fleet.Have{Epoch: 30, Generation: 1}, record(30, 2, last), false},
		"newer than an outdated record":    {fleet.Have{Epoch: 30, Generation: 2}, record(30, 1, last), false},
		"in an epoch that did not begin":   {fleet.Have{Epoch: 15, Generation: 1}, record(30, 1, fleet.Have{}), true},
		"in an unknown epoch, no record":   {fleet.Have{Epoch: 5, Generation: 1}, records.Assignment{}, true},
		"in a later epoch, outdated epoch": {fleet.Have{Epoch: 40, Generation: 1}, record(30, 1, last), false},
	} {
		if got := ProvesLoss(c.have, c.had, epoch); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestLostAssignments: a store that lacks an assignment that a target shows notes the loss, and otherwise does not.
func TestLostAssignments(t *testing.T) {
	s, store := giving(t)
	s.Records.Epochs = records.NewMirror[records.Epoch](bustest.NewStore(), "", nil)
	var lost []time.Time
	s.Lost = func(_ fleet.TargetID, issued time.Time) { lost = append(lost, issued) }
	show := func(epoch, generation uint64) fleet.Assignment {
		t.Helper()
		a := large(5)
		a.Epoch, a.Generation, a.Issued = epoch, generation, int64(1000*epoch+generation)
		envelope, err := fleet.Sign(a.Marshal(), fleet.AssignmentType, s.SigningKey())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Adopt(t.Context(), a.Target, envelope); err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := show(10, 7)
	if len(lost) != 1 || lost[0].Unix() != a.Issued {
		t.Fatalf("the losses are %v", lost)
	}
	a.Epoch, a.Generation = 20, 1
	if err := s.Write(t.Context(), 1, []fleet.Assignment{a}); err != nil {
		t.Fatal(err)
	}
	if g := stored(t, s, store, a.Target); g.Before != (fleet.Have{Epoch: 10, Generation: 7}) {
		t.Errorf("the assignment before is %+v", g.Before)
	}
	show(10, 7)
	if len(lost) != 1 {
		t.Errorf("an earlier assignment is a loss: %v", lost)
	}
	if show(10, 8); len(lost) != 2 {
		t.Error("a later assignment of an earlier epoch is not a loss")
	}
}

// TestBeforeAfterConflict: a leader whose mirror is outdated stores the number of the assignment that it replaces.
func TestBeforeAfterConflict(t *testing.T) {
	s, store := giving(t)
	a := large(5)
	for _, n := range []fleet.Have{{Epoch: 10, Generation: 1}, {Epoch: 10, Generation: 2}} {
		a.Epoch, a.Generation = n.Epoch, n.Generation
		packed, err := s.Pack(signed(t, s, a))
		if err == nil {
			_, err = store.Put(t.Context(), string(a.Target), packed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for generation := range uint64(2) {
		a.Epoch, a.Generation = 20, generation+1
		if err := s.Write(t.Context(), 5, []fleet.Assignment{a}); err != nil {
			t.Fatal(err)
		}
		if g := stored(t, s, store, a.Target); g.Before != (fleet.Have{Epoch: 10, Generation: 2}) {
			t.Errorf("the assignment before %d is %+v", generation, g.Before)
		}
	}
}

// signed returns the record of an assignment.
func signed(t *testing.T, s *Store, a fleet.Assignment) records.Assignment {
	t.Helper()
	d, err := s.sign(1, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d.Value
}
