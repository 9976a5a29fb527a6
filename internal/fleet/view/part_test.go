package view_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/view"
)

// grown returns a partial report after another one: some modules changed, and sometimes there is a
// new module.
func grown(t *rapid.T, was fleet.Report) fleet.Report {
	r := fleet.Report{Format: fleet.ReportFormat, Target: id(0), Seq: was.Seq + 1, Boot: "b",
		At: at(int(was.Seq)).UnixNano(), Event: fleet.Event{Kind: fleet.Applied, Run: int(was.Seq)}}
	n := len(was.Status.Modules)
	if n == 0 || rapid.IntRange(0, 5).Draw(t, "others") == 0 {
		n = rapid.IntRange(1, 4).Draw(t, "modules")
	}
	for i := range n {
		m := fleet.ModuleStatus{Module: fmt.Sprintf("modules/m%d", i), Commit: commit(1), Bundle: "sha256:1",
			State: fleet.ModuleReady, Since: 1}
		if i < len(was.Status.Modules) {
			m = was.Status.Modules[i]
		}
		switch rapid.IntRange(0, 4).Draw(t, "change") {
		case 0:
			m.Commit, m.Bundle = commit(int(r.Seq)), fmt.Sprint("sha256:", r.Seq)
		case 1:
			m.State, m.Error = fleet.ModuleFailed, "broken"
		case 2:
			m.State, m.Waits = fleet.ModuleBlocked, "another"
		}
		r.Status.Modules = append(r.Status.Modules, m)
	}
	r.Status.Epoch, r.Status.Generation, r.Status.Facts = 1, r.Seq, map[string]string{"os": fmt.Sprint(r.Seq)}
	return r
}

// TestParts: partial reports lead to the same model as full reports.
func TestParts(t *testing.T) {
	fewChecks(t, "10")
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		var models [2]*view.View
		for i := range models {
			v, err := view.Open(filepath.Join(t.TempDir(), fmt.Sprint(n, i)), view.Options{})
			if err != nil {
				rt.Fatal(err)
			}
			defer v.Close()
			put(t, v, member(0))
			if err := v.PutAssignment(t.Context(), assignment(0, 1, 3)); err != nil {
				rt.Fatal(err)
			}
			models[i] = v
		}
		var was fleet.Report
		for seq := range uint64(rapid.IntRange(2, 8).Draw(rt, "reports")) {
			r := grown(rt, was)
			told := record(r)
			if part, ok := r.Part(was); ok {
				told = record(part)
			}
			was = r
			for i, b := range [][]byte{record(r), told} {
				records := [][]byte{b}
				if seq%3 == 0 {
					records = append(records, b) // it came twice
				}
				if err := models[i].Append(t.Context(), seq+1, records); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if whole, parts := picture(t, models[0]), picture(t, models[1]); !reflect.DeepEqual(whole, parts) {
			rt.Errorf("of parts:\n%+v\nof whole ones:\n%+v", parts, whole)
		}
	})
}
