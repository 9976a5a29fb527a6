package view_test

import (
	"fmt"
	"reflect"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// TestByID: a target has its newest record, although records are kept between calls.
func TestByID(t *testing.T) {
	v := open(t, view.Options{})
	for n, labels := range []map[string]string{{"a": "1"}, {"a": "1"}, {"a": "2"}, nil} {
		err := v.PutTarget(t.Context(), fleet.Target{ID: id(1), Name: "n1", Standing: fleet.Active, Labels: labels})
		if err != nil {
			t.Fatal(err)
		}
		all, err := v.ByID(t.Context(), at(n))
		if err != nil || len(all) != 1 || !reflect.DeepEqual(all[id(1)].Labels, labels) {
			t.Errorf("%v: %+v, %v", labels, all, err)
		}
	}
}

// BenchmarkByID measures the knowledge of the hub that leads about 10,000 targets, one of which changed.
func BenchmarkByID(b *testing.B) {
	v := open(b, view.Options{})
	for i := range 10_000 {
		err := v.PutTarget(b.Context(), fleet.Target{ID: fleet.TargetID(fmt.Sprintf("%026d", i)), Name: fmt.Sprint("h", i),
			Standing: fleet.Active, Labels: map[string]string{"role": "web", "rack": fmt.Sprint(i % 40)}})
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		if err := v.PutAssignment(b.Context(), assignment(7, n, 1)); err != nil {
			b.Fatal(err)
		}
		if all, err := v.ByID(b.Context(), at(1)); err != nil || len(all) != 10_000 {
			b.Fatal(len(all), err)
		}
	}
}
