package machine_test

import (
	"slices"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/agent/machine"
)

// A host that is enrolled again is a different target: it accepts lower numbers of assignments, and
// does not send old reports.
func TestEnrolledAnew(t *testing.T) {
	old, id := fleet.TargetID(strings.Repeat("a", 26)), fleet.TargetID(strings.Repeat("b", 25)+"a")
	kept := machine.StoredState{Accepted: &fleet.Assignment{Target: old, Epoch: 3, Generation: 9}, Seq: 7,
		Modules: map[string]machine.Module{"modules/web": {}}}
	m := machine.New(machine.Config{Target: id, Version: "1"}, kept, 7, 2)
	if s := m.Status(); s.Epoch != 0 || s.Generation != 0 || len(s.Modules) != 0 {
		t.Errorf("%+v", s)
	}
	if s := machine.New(machine.Config{Target: old, Version: "1"}, kept, 7, 2).Status(); s.Epoch != 3 ||
		s.Generation != 9 {
		t.Errorf("its own: %+v", s)
	}
}

// A host with an old state gives its reports numbers above the numbers at the hubs, and sends a
// full status. Lower numbers, or numbers near the limit, change nothing.
func TestNumberedAboveHubs(t *testing.T) {
	m := machine.New(machine.Config{Target: fleet.TargetID(strings.Repeat("a", 26)), Version: "1"},
		machine.StoredState{}, 0, 0)
	reports := func(e machine.Event) (out []uint64) {
		for _, a := range m.Step(e, machine.Now{}) {
			if a, ok := a.(machine.Append); ok {
				out = append(out, a.Report.Seq)
			}
		}
		return out
	}
	for i, c := range []struct {
		event machine.Event
		want  []uint64
	}{
		{machine.Started{}, []uint64{1}}, {machine.Numbered{Seq: 1}, nil}, {machine.Numbered{Seq: 40}, []uint64{41}},
		{machine.Numbered{Seq: 40}, nil},
		{machine.Acked{Seq: 1}, nil}, {machine.Numbered{Seq: 1<<64 - 1}, nil}, {machine.Numbered{}, nil},
		{machine.Numbered{Seq: 42}, []uint64{43}},
	} {
		if got := reports(c.event); !slices.Equal(got, c.want) {
			t.Errorf("%d: %+v: reports %v, want %v", i, c.event, got, c.want)
		}
	}
	var sent []uint64
	for _, a := range m.Step(machine.Link{Up: true}, machine.Now{}) {
		if a, ok := a.(machine.Send); ok {
			sent = append(sent, a.Seq)
		}
	}
	if !slices.Equal(sent, []uint64{43}) {
		t.Errorf("sent are %v", sent)
	}
}
