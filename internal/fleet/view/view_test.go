package view_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/view"
)

func at(n int) time.Time { return time.Unix(1_800_000_000+int64(n), 0) }

func open(t testing.TB, o view.Options) *view.View {
	t.Helper()
	v, err := view.Open(filepath.Join(t.TempDir(), "view.db"), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func id(n int) fleet.TargetID {
	return fleet.TargetID(strings.Repeat(string(rune('a'+n)), 25) + "a")
}

func commit(n int) string { return fmt.Sprintf("%040x", n) }

func record(doc any) []byte {
	b, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	return b
}

// said returns a report of a target with one module at a revision and in a state.
func said(target, seq, revision int, state fleet.Readiness) []byte {
	return record(fleet.Report{
		Format: fleet.ReportFormat, Target: id(target), Seq: uint64(seq), Boot: "b", At: at(seq).UnixNano(), Event: fleet.Event{Kind: fleet.Applied, Run: seq, Module: "modules/m0"},
		Status: fleet.Status{Epoch: 1, Generation: uint64(revision), Run: seq, Modules: []fleet.ModuleStatus{{Module: "modules/m0", Commit: commit(revision), State: state, Since: at(seq).UnixNano()}}},
	})
}

// began returns the first report of a target without modules.
func began(target, revision int) []byte {
	r := fleet.Report{Format: fleet.ReportFormat, Target: id(target), Seq: 1, Boot: "b", At: at(1).UnixNano(), Event: fleet.Event{Kind: fleet.Started}}
	if revision > 0 {
		r.Status.Epoch, r.Status.Generation = 1, uint64(revision)
	}
	return record(r)
}

func assignment(target, revision, modules int) fleet.Assignment {
	rev := fleet.Revision{Repository: "site", Commit: commit(revision)}
	bundle := fleet.Bundle{Digest: fmt.Sprintf("sha256:%064x", revision)}
	a := fleet.Assignment{Format: fleet.AssignmentFormat, Target: id(target), Name: "t", Epoch: 1,
		Generation: uint64(revision), Root: fleet.Assigned{Revision: rev, Bundle: bundle}}
	for i := range modules {
		a.Modules = append(a.Modules, fleet.Assigned{Module: fmt.Sprintf("modules/m%d", i), Revision: rev, Bundle: bundle})
	}
	return a
}

func put(t testing.TB, v *view.View, targets ...fleet.Target) {
	t.Helper()
	for _, target := range targets {
		if err := v.PutTarget(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
}

func member(n int) fleet.Target {
	return fleet.Target{ID: id(n), Name: fmt.Sprintf("t%d", n), Standing: fleet.Active, Labels: map[string]string{"n": fmt.Sprint(n)}}
}

// picture returns the answers of all queries of a model.
func picture(t testing.TB, v *view.View) map[string]any {
	t.Helper()
	ctx, out := t.Context(), map[string]any{}
	must := func(name string, doc any, err error) {
		if err != nil && !errors.Is(err, fleet.ErrNotFound) {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = doc
	}
	page, err := v.Targets(ctx, view.TargetQuery{All: true, Now: at(100)})
	must("targets", page, err)
	modules, err := v.Modules(ctx, at(100))
	must("modules", modules, err)
	module, err := v.Module(ctx, view.ModuleQuery{Module: "modules/m0", Now: at(100)})
	must("module", module, err)
	events, err := v.Events(ctx, view.EventQuery{After: "0.0", Limit: view.MaxPage})
	must("events", events, err)
	status, err := v.Status(ctx, at(100))
	must("status", status, err)
	for _, target := range page.Targets {
		d, err := v.Target(ctx, string(target.ID), at(100))
		must(target.Name, d, err)
	}
	return out
}

// fewChecks reduces the default number of checks, because each creates files.
func fewChecks(t *testing.T, n string) {
	checks := flag.Lookup("rapid.checks")
	had := checks.Value.String()
	if os.Getenv("FETTLE_LONG") != "" || had != checks.DefValue {
		return
	}
	if err := checks.Value.Set(n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(had) })
}

// A model that was updated during the events, with interruptions, equals a model that is created
// from the whole log, for any order and repetition of reports.
func TestDamagedFileIsReplaced(t *testing.T) {
	fewChecks(t, "4")
	rapid.Check(t, func(rt *rapid.T) {
		var log [][][]byte
		reports := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) []byte {
			if rapid.IntRange(0, 9).Draw(rt, "kind") == 0 {
				return record(fleet.HubEvent{Format: fleet.HubEventFormat, At: at(1).UnixNano(), Kind: fleet.AssignmentIssued,
					Target: id(rapid.IntRange(0, 2).Draw(rt, "of"))})
			}
			states := []fleet.Readiness{fleet.ModuleReady, fleet.ModuleFailed, fleet.ModuleDrifted, fleet.ModuleBlocked}
			return said(rapid.IntRange(0, 2).Draw(rt, "target"), rapid.IntRange(1, 12).Draw(rt, "seq"), rapid.IntRange(1, 3).Draw(rt, "revision"), rapid.SampledFrom(states).Draw(rt, "state"))
		}), 1, 40).Draw(rt, "reports")
		for len(reports) > 0 {
			n := rapid.IntRange(1, min(4, len(reports))).Draw(rt, "group")
			log = append(log, reports[:n])
			reports = reports[n:]
		}
		o := view.Options{Events: 4}
		file := filepath.Join(t.TempDir(), fmt.Sprint(rapid.Uint64().Draw(rt, "file")))
		v, err := view.Open(file, o)
		if err != nil {
			rt.Fatal(err)
		}
		ctx := t.Context()
		for i, records := range log {
			if err := v.Append(ctx, uint64(i+1), records); err != nil {
				rt.Fatal(err)
			}
			switch rapid.IntRange(0, 5).Draw(rt, "then") {
			case 0: // the same place comes again after a lost connection
				if err := v.Append(ctx, uint64(i+1), records); err != nil {
					rt.Fatal(err)
				}
			case 1:
				_ = v.Close()
				if v, err = view.Open(file, o); err != nil {
					rt.Fatal(err)
				}
			case 2:
				if err := v.Prune(ctx, at(0)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		again := open(t, o)
		for i, records := range log {
			if err := again.Append(ctx, uint64(i+1), records); err != nil {
				rt.Fatal(err)
			}
		}
		for _, m := range []*view.View{v, again} {
			put(t, m, member(0), member(1), member(2))
			for n := range 3 {
				if err := m.PutAssignment(ctx, assignment(n, 2, 2)); err != nil {
					rt.Fatal(err)
				}
			}
		}
		if a, b := picture(t, v), picture(t, again); !reflect.DeepEqual(a, b) {
			rt.Fatalf("made while it happened\n%s\nmade again\n%s", record(a), record(b))
		}
		_ = v.Close()
	})
}

// The size of the data of a target is limited, independently of the number of its reports.
func TestBoundedDisk(t *testing.T) {
	file := filepath.Join(t.TempDir(), "view.db")
	v, err := view.Open(file, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	targets, most := 2, int64(96<<10) // pages of the file weigh more among so few
	if os.Getenv("FETTLE_LONG") != "" {
		targets, most = 40, 12<<10
	}
	for n := range targets {
		put(t, v, member(n))
		if err := v.PutAssignment(t.Context(), assignment(n, 1, 50)); err != nil {
			t.Fatal(err)
		}
	}
	report := func(n, seq int) []byte {
		r := fleet.Report{Format: fleet.ReportFormat, Target: id(n), Seq: uint64(seq), At: at(seq).UnixNano(), Event: fleet.Event{Kind: fleet.Drifted, Module: "modules/m1", Text: "/etc/some/file/of/it.conf is not as applied"}}
		for i := range 50 {
			r.Status.Modules = append(r.Status.Modules, fleet.ModuleStatus{Module: fmt.Sprintf("modules/m%d", i), Commit: commit(1), Bundle: fmt.Sprintf("sha256:%064x", 1), State: fleet.ModuleReady, Since: at(1).UnixNano()})
		}
		return record(r)
	}
	seq := uint64(0)
	for s := 1; s <= view.DefaultEvents+5; s++ {
		var group [][]byte
		for n := range targets {
			group = append(group, report(n, s))
		}
		seq++
		if err := v.Append(t.Context(), seq, group); err != nil {
			t.Fatal(err)
		}
	}
	page, err := v.Events(t.Context(), view.EventQuery{Target: "t1", After: "0.0", Limit: view.MaxPage})
	if err != nil || len(page.Events) != view.DefaultEvents {
		t.Errorf("%d events of one target, %v", len(page.Events), err)
	}
	if err := v.Prune(t.Context(), at(0).Add(view.DefaultAge*2)); err != nil {
		t.Fatal(err)
	}
	if page, err = v.Events(t.Context(), view.EventQuery{After: "0.0"}); err != nil || len(page.Events) != 0 {
		t.Errorf("%d events are too old, %v", len(page.Events), err)
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(file)
	if err != nil || st.Size()/int64(targets) > most {
		t.Errorf("%d bytes a target, %v", st.Size()/int64(targets), err)
	}
	t.Logf("%d bytes a target with 50 modules and %d events", st.Size()/int64(targets), view.DefaultEvents)
}

// The state of a target is the most severe one that applies, and states are ordered by severity.
func TestStates(t *testing.T) {
	v := open(t, view.Options{})
	ctx := t.Context()
	take := func(seq uint64, records ...[]byte) {
		t.Helper()
		if err := v.Append(ctx, seq, records); err != nil {
			t.Fatal(err)
		}
	}
	var all []fleet.Target
	for n := range 10 {
		all = append(all, member(n))
	}
	all[7].Standing = fleet.Retired
	put(t, v, all...)
	for _, n := range []int{0, 1, 2, 3, 4, 5, 6, 9} { // 8 has nothing yet, and 9 nothing to do
		modules := 1
		if n == 9 {
			modules = 0
		}
		if err := v.PutAssignment(ctx, assignment(n, 2, modules)); err != nil {
			t.Fatal(err)
		}
	}
	take(1, said(0, 1, 2, fleet.ModuleReady), said(1, 1, 1, fleet.ModuleReady), said(2, 1, 2, fleet.ModuleFailed), said(3, 1, 2, fleet.ModuleBlocked), said(4, 1, 2, fleet.ModuleDrifted), said(5, 1, 2, fleet.ModuleReady), began(8, 0), began(9, 2))
	for _, n := range []int{0, 1, 2, 3, 4, 8, 9} {
		v.RecordContact(id(n), at(3600))
	}
	page, err := v.Targets(ctx, view.TargetQuery{All: true, Sort: "state", Now: at(3600)})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range page.Targets {
		got = append(got, target.Name+" "+string(target.State))
	}
	want := "t2 failed, t5 unresponsive, t4 drifted, t6 unknown, t3 blocked, t8 unassigned, t1 pending, t0 ready, t9 ready, t7 not-in-fleet"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	d, err := v.Target(ctx, "t1", at(3600))
	if err != nil || len(d.Modules) != 1 || !d.Modules[0].Behind || d.Modules[0].Applied != commit(1) || d.Modules[0].Assigned.Commit != commit(2) {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := v.Target(ctx, "nobody", at(0)); !errors.Is(err, fleet.ErrNotFound) {
		t.Error(err)
	}
	s, err := v.Status(ctx, at(3600))
	if err != nil || s.Targets != 9 || s.States[document.Unassigned] != 1 || s.States[document.Failed] != 1 || s.Standings[fleet.Retired] != 1 || s.Behind != 2 || s.Position != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A name that is used again belongs to the target in the fleet.
func TestReusedNames(t *testing.T) {
	v := open(t, view.Options{})
	old, now := member(0), member(1)
	old.Standing, now.Name = fleet.Revoked, old.Name
	put(t, v, now, old)
	d, err := v.Target(t.Context(), old.Name, at(0))
	if err != nil || d.Target.ID != now.ID {
		t.Errorf("%v, %v", d.Target.ID, err)
	}
	page, err := v.Targets(t.Context(), view.TargetQuery{Select: []string{"label:n=1"}, Now: at(0)})
	if err != nil || len(page.Targets) != 1 || page.Targets[0].ID != now.ID {
		t.Errorf("%+v, %v", page, err)
	}
}

// Selections can use the roles and groups of a repository.
func TestGroups(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0), member(1))
	made := &document.TargetElement{Block: "web", Key: "t1", Source: "fettle.hcl:3"}
	v.SetMemberships(map[string]view.Memberships{"t1": {Roles: []string{"web"}, Groups: []string{"berlin"},
		Environment: "staging", Element: made}})
	d, err := v.Target(t.Context(), "t1", at(0))
	if err != nil || d.Environment != "staging" || d.Element != made || d.Serves["roles"][0] != "web" {
		t.Errorf("%+v, %v", d, err)
	}
	for _, word := range []string{"role:web", "group:berlin", "!t0"} {
		page, err := v.Targets(t.Context(), view.TargetQuery{Select: []string{word}, Now: at(0)})
		if err != nil || page.Total != 1 || page.Targets[0].Name != "t1" {
			t.Errorf("%s: %+v, %v", word, page, err)
		}
	}
	if _, err := v.Targets(t.Context(), view.TargetQuery{Select: []string{"role:db"}, Now: at(0)}); !errors.Is(err, view.ErrQuery) {
		t.Error(err)
	}
}

// A file that is damaged, or of another version, is created again. Unreadable records of the log do
// not stop later ones.
func TestDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "view.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := view.Open(file, view.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	for i, r := range [][]byte{nil, []byte("x"), []byte(`{"format":"fettle.report/2"}`), []byte(`{"format":"fettle.report/1"}`), said(0, 1, 1, fleet.ModuleReady)} {
		if err := v.Append(t.Context(), uint64(i+1), [][]byte{r}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, v, member(0))
	if d, err := v.Target(t.Context(), "t0", at(0)); err != nil || d.Target.Run != 1 {
		t.Errorf("%+v, %v", d, err)
	}
}

// Consecutive pages of events contain each event once, also if events are added meanwhile.
func TestCursors(t *testing.T) {
	v := open(t, view.Options{})
	put(t, v, member(0))
	take := func(n int) {
		if err := v.Append(t.Context(), uint64(n), [][]byte{said(0, 2*n, 1, fleet.ModuleReady),
			said(0, 2*n+1, 1, fleet.ModuleReady)}); err != nil {
			t.Fatal(err)
		}
	}
	take(1)
	var runs []int
	q := view.EventQuery{After: "0.0", Limit: 1, Target: "t0", Module: "modules/m0", Kinds: []string{"applied", "failed"}, Since: at(0), Until: at(50)}
	for n := 2; ; n++ {
		page, err := v.Events(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Events) == 0 {
			break
		}
		runs, q.After = append(runs, page.Events[0].Run), page.Cursor
		if n < 4 {
			take(n)
		}
	}
	if fmt.Sprint(runs) != "[2 3 4 5 6 7]" {
		t.Error(runs)
	}
	newest, err := v.Events(context.Background(), view.EventQuery{Limit: 2})
	if err != nil || len(newest.Events) != 2 || newest.Events[1].Run != 7 {
		t.Errorf("%+v, %v", newest, err)
	}
}
