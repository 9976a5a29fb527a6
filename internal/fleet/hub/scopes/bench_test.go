package scopes

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/events"
	"fettle.dev/fettle/internal/fleet/hub/records"
	"fettle.dev/fettle/internal/fleet/scope"
	"fettle.dev/fettle/internal/fleet/view"
	"fettle.dev/fettle/internal/lang/query"
)

const (
	manyTargets = 10_000
	ofCluster   = 50
)

func manyID(i int) fleet.TargetID {
	letters := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%025d", i))
	return fleet.TargetID(letters + "a")
}

// BenchmarkTidy measures the work of a leading hub every 15 seconds at rest: 10,000 targets in 200 clusters with a
// check each, and 50 rooms of four clusters. It reads the read model. Without scopes, it reads no target.
func BenchmarkTidy(b *testing.B) {
	v := manyMembers(b)
	for name, declared := range map[string]query.Scopes{"with scopes": manyScopes(), "without scopes": {}} {
		b.Run(name, func(b *testing.B) {
			before := heap()
			h := benchHub(b, v)
			h.Declare(revision("c"), declared)
			for range 2 { // mirrors follow the store, so the first one does not evaluate all scopes
				if err := h.tidy(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			if h.evaluated.newest != nil && len(h.evaluated.newest.results) != len(declared.Scopes) {
				b.Fatal(len(h.evaluated.newest.results))
			}
			for id, r := range h.verdicts() {
				if r.Verdict != scope.Ready {
					b.Fatal(id, r)
				}
			}
			cpu, n := used(b), 0
			for b.Loop() {
				if n++; h.tidy(b.Context()) != nil {
					b.Fatal("tidy has an error")
				}
			}
			each := (used(b) - cpu) / time.Duration(n)
			b.ReportMetric(float64(each.Microseconds())/1000, "cpu-ms/op")
			b.ReportMetric(100*each.Seconds()/EvaluateEvery.Seconds(), "%cpu")
			b.ReportMetric(float64(int64(heap())-int64(before))/manyTargets, "B/target")
			runtime.KeepAlive(h)
		})
	}
}

// verdicts returns the results of the newest evaluation.
func (s *Scopes) verdicts() map[string]scope.Result {
	if s.evaluated.newest == nil {
		return nil
	}
	return s.evaluated.newest.results
}

// heap returns the size of the live objects.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// used returns the time of the CPU that this process used.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// manyMembers returns a read model with all targets and a successful result of each.
func manyMembers(b *testing.B) *view.View {
	v, err := view.Open(filepath.Join(b.TempDir(), "view.db"), view.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = v.Close() })
	var reports [][]byte
	for i := range manyTargets {
		err := v.PutTarget(b.Context(), fleet.Target{ID: manyID(i), Name: fmt.Sprintf("t%05d", i), Standing: fleet.Active,
			Labels: map[string]string{"role": "web"}})
		if err != nil {
			b.Fatal(err)
		}
		v.RecordConnection(manyID(i), true)
		text, err := json.Marshal(fleet.Report{Format: fleet.ReportFormat, Target: manyID(i), Seq: 1, Boot: "b", At: 7,
			Event: fleet.Event{Kind: fleet.Checked}, Status: fleet.Status{Checks: []fleet.CheckResult{{
				Scope: fmt.Sprintf("cluster/c%03d", i/ofCluster), Check: "formed", Digest: "c1", Outcome: fleet.CheckOK,
				Since: 7}}}})
		if err != nil {
			b.Fatal(err)
		}
		reports = append(reports, text)
	}
	n := uint64(0)
	for part := range slices.Chunk(reports, 500) {
		if n++; v.Append(b.Context(), n, part) != nil {
			b.Fatal("cannot append the reports")
		}
	}
	return v
}

// manyScopes returns the clusters and the rooms.
func manyScopes() (out query.Scopes) {
	out.Kinds = []query.ScopeKind{{Name: "cluster", Overlap: true, Empty: "empty"}, {Name: "room", Overlap: true,
		Empty: "empty"}}
	clusters := manyTargets / ofCluster
	for i := range clusters {
		s := query.Scope{Kind: "cluster", Name: fmt.Sprintf("c%03d", i), MinMembers: 3,
			Checks: []query.ScopeCheck{{Name: "formed", Quorum: "all", Digest: "c1", Every: 30, Timeout: 10}}}
		for j := range ofCluster {
			s.Targets = append(s.Targets, fmt.Sprintf("t%05d", i*ofCluster+j))
		}
		out.Scopes = append(out.Scopes, s)
	}
	for i := range clusters / 4 {
		s := query.Scope{Kind: "room", Name: fmt.Sprintf("r%02d", i)}
		for j := range 4 {
			s.Scopes = append(s.Scopes, fmt.Sprintf("cluster/c%03d", 4*i+j))
		}
		out.Scopes = append(out.Scopes, s)
	}
	return out
}

// benchHub returns the scopes of a hub with a store in memory and a real read model.
func benchHub(b *testing.B, v *view.View) *Scopes {
	table, store := &records.Table{}, fleet.Store(bustest.NewStore())
	table.Scopes = records.NewMirror(store, "scope/", records.ParseScope)
	table.Tasks = records.NewMirror(store, "task/", records.ParseTask)
	table.Restorations = records.NewMirror[records.Restoration](store, "restored/", nil)
	table.Epochs = records.NewMirror[records.Epoch](store, "rule/", nil)
	table.Freezes = records.NewMirror[assign.Freeze](store, "freeze/", nil)
	warn := func(text string) { b.Log(text) }
	h := New(Config{Now: time.Now, Warn: warn, Records: table,
		Events: events.Recorder{Hub: "hub1", Log: bustest.NewLog(), Now: time.Now, Warn: warn},
		Observe: func(ctx context.Context) (map[fleet.TargetID]document.Target, error) {
			return v.ByID(ctx, time.Now())
		},
		Checks: func(ctx context.Context) (map[fleet.TargetID][]fleet.CheckResult, error) {
			return view.ChecksOf(ctx, v)
		}})
	h.began = time.Now().Add(-time.Hour)
	return h
}
