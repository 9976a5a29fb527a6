package durable_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/durable"
	"fettle.dev/fettle/internal/fleet/agent/machine"
	"fettle.dev/fettle/internal/host/mem"
)

func Example() {
	files := mem.NewFS(mem.Options{})
	d, _ := durable.Open(files, "/agent")
	fmt.Println(d.Save(&machine.StoredState{Format: machine.Format, Run: 3}))
	fmt.Println(d.Append(fleet.Report{Seq: 1}), d.Append(fleet.Report{Seq: 2}), d.Drop(2))
	d, err := durable.Open(files, "/agent")
	kept, _ := d.Load()
	fmt.Println(err, kept.Run)
	fmt.Println(d.Reports())
	// Output:
	// <nil>
	// <nil> <nil> <nil>
	// <nil> 3
	// 2 1
}

// goneAt simulates a power failure at an operation: it and all later operations fail.
func goneAt(at int) func(op, path string) error {
	n := 0
	return func(string, string) error {
		if n++; n >= at {
			return errors.New("the power is gone")
		}
		return nil
	}
}

// write saves and appends until an error, and returns the progress.
func write(d *durable.Dir, saved *int, appended *uint64) error {
	for i := 1; i <= 4; i++ {
		if err := d.Save(&machine.StoredState{Format: machine.Format, Run: i}); err != nil {
			return err
		}
		*saved = i
		if err := d.Append(fleet.Report{Seq: uint64(i)}); err != nil {
			return err
		}
		*appended = uint64(i)
		if err := d.Drop(uint64(i) - 1); err != nil {
			return err
		}
	}
	return nil
}

// A power failure after any operation preserves all acknowledged data, and incomplete files are
// ignored.
func TestPowerCuts(t *testing.T) {
	for at := 1; ; at++ {
		files := mem.NewFS(mem.Options{})
		var saved int
		var appended uint64
		d, err := durable.Open(files.Counted(goneAt(at)), "/agent")
		if err == nil {
			err = write(d, &saved, &appended)
		}
		after := files.CrashClone(rand.New(rand.NewPCG(uint64(at), 7)))
		again, operr := durable.Open(after, "/agent")
		if operr != nil {
			t.Fatalf("operation %d: %v", at, operr)
		}
		kept, lerr := again.Load()
		newest, dropped := again.Reports()
		if lerr != nil || kept.Run < saved || newest < appended || dropped >= newest && newest > 0 {
			t.Fatalf("operation %d: %v: run %d of %d, report %d of %d, dropped %d", at, lerr, kept.Run, saved, newest,
				appended, dropped)
		}
		for seq := dropped + 1; seq <= newest; seq++ {
			if text, err := again.Report(seq); err != nil || len(text) == 0 {
				t.Fatalf("operation %d: report %d: %v", at, seq, err)
			}
		}
		if err == nil {
			return
		}
	}
}

// After a power failure some dropped reports can reappear. The gap between them does not wait for
// an acknowledgement.
func TestDroppedReportsThatComeBack(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	d, err := durable.Open(files, "/agent")
	for seq := uint64(1); seq <= 6 && err == nil; seq++ {
		err = d.Append(fleet.Report{Seq: seq})
	}
	if err == nil {
		err = files.Remove("/agent/outbox/00000000000000000004.json")
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := durable.Open(files, "/agent")
		if err != nil {
			t.Fatal(err)
		}
		if newest, dropped := again.Reports(); newest != 6 || dropped != 4 {
			t.Errorf("the newest is %d, and %d were dropped", newest, dropped)
		}
		if _, err := again.Report(3); err == nil {
			t.Error("what lies below the gap is still there")
		}
	}
}

func TestNewerFormat(t *testing.T) {
	d, err := durable.Open(mem.NewFS(mem.Options{}), "/agent")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Save(&machine.StoredState{Format: "fettle.agent/2"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(); err == nil {
		t.Error("what a newer agent kept is read")
	}
}

// TestSaveAgain: the cached encoding belongs to the right assignment.
func TestSaveAgain(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	d, err := durable.Open(files, "/agent")
	if err != nil {
		t.Fatal(err)
	}
	of := func(generation uint64, names ...string) *fleet.Assignment {
		a := &fleet.Assignment{Format: fleet.AssignmentFormat, Generation: generation}
		for _, n := range names {
			a.Modules = append(a.Modules, fleet.Assigned{Module: n, Revision: fleet.Revision{Commit: n}})
		}
		return a
	}
	first, second := of(1, "modules/a"), of(2, "modules/a", "modules/b")
	k := machine.StoredState{Format: machine.Format}
	for i, step := range []func(){
		func() {},
		func() { k.Accepted = first },
		func() { k.Applied, k.Run = first, 1 },
		func() { k.Accepted, k.Envelope = second, []byte("\x00<e>") },
		func() { k.Applied = of(2, "modules/b") },
		func() { k.Accepted, k.Applied = nil, second },
	} {
		step()
		if err := d.Save(&k); err != nil {
			t.Fatal(err)
		}
		got, err := d.Load()
		if err != nil || fmt.Sprintf("%+v %+v %+v", got.Accepted, got.Applied, got.Run) != fmt.Sprintf("%+v %+v %+v",
			k.Accepted, k.Applied, k.Run) || string(got.Envelope) != string(k.Envelope) {
			t.Errorf("step %d: kept %+v %+v, %v", i, got.Accepted, got.Applied, err)
		}
	}
}

// Numbers may be skipped. Then no earlier report is stored, before and after a power cut.
func TestSkippedNumbers(t *testing.T) {
	files := mem.NewFS(mem.Options{})
	d, err := durable.Open(files, "/agent")
	for _, seq := range []uint64{1, 2, 3, 1 << 53, 1<<53 + 1} {
		if err == nil {
			err = d.Append(fleet.Report{Seq: seq})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	after, err := durable.Open(files.CrashClone(rand.New(rand.NewPCG(1, 1))), "/agent")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []*durable.Dir{d, after} {
		if newest, dropped := d.Reports(); newest != 1<<53+1 || dropped != 1<<53-1 {
			t.Errorf("the newest is %d, and %d were dropped", newest, dropped)
		}
		if _, err := d.Report(3); err == nil {
			t.Error("a report below the skipped numbers is still there")
		}
	}
	if err := d.Drop(1 << 53); err != nil {
		t.Error(err)
	}
}
