package wire_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/executor/wire"
	"fettle.dev/fettle/internal/host/mem"
)

// TestReports: what is kept is given back oldest first, until it is forgotten; of too
// many the oldest go; and no name leads out of the directory.
func TestReports(t *testing.T) {
	r := wire.Reports{FS: mem.New(mem.Options{})}
	if got := r.List(); len(got) != 0 {
		t.Errorf("in the beginning: %v", got)
	}
	for i := range 105 {
		if err := r.Keep(wire.Ended{Report: &executor.Report{Run: i}, Command: "a \xff b", Ended: int64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	got := r.List()
	if len(got) != 100 || got[0].Report.Run != 5 || got[99].Report.Run != 104 || got[0].Command != "a \xff b" {
		t.Fatalf("%d kept, from %+v", len(got), got[0])
	}
	if err := r.Forget([]string{got[0].Name, got[1].Name, fmt.Sprintf("%019d.json", 9999)}); err != nil {
		t.Error(err)
	}
	if left := r.List(); len(left) != 98 || left[0].Report.Run != 7 {
		t.Errorf("%d left", len(left))
	}
	for _, name := range []string{"../state.json", "a/b.json", "..", "", "x"} {
		if r.Forget([]string{name}) == nil {
			t.Errorf("it forgets %q", name)
		}
	}
}
