package local_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/addr"
	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/image"
	"fettle.dev/fettle/internal/plan"
	"fettle.dev/fettle/test/needs"
	"fettle.dev/fettle/test/sample"
)

// past is what a run left.
type past struct {
	run  int
	seen snapshot
}

// edited tells of paths whose times follow from what others write: those that
// a list edits, and account files.
func edited(lists []string) func(string) bool {
	paths := map[string]bool{}
	for _, text := range lists {
		for _, s := range request(panics{}, text).List {
			if s.Addr().Kind() == addr.KindEdit {
				paths[s.Path()] = true
			}
		}
	}
	return func(p string) bool {
		return paths[p] || !strings.HasSuffix(p, linesOf) && (strings.HasPrefix(p, "/etc/") || strings.HasPrefix(p, "/m/"))
	}
}

type panics struct{}

func (panics) Helper()                      {}
func (panics) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// applyLawfully applies a list and checks the laws of one run. It gives false
// when the list cannot be applied here, which must leave nothing behind.
func (w *world) applyLawfully(list string) (*executor.Report, bool) {
	w.t.Helper()
	ctx := context.Background()
	r := request(w.t, list)
	was := w.look()
	w.ops.Reset()
	p, err := w.x.Plan(ctx, r)
	if w.ops.N() > 0 {
		w.t.Fatalf("planning changed the machine:\n%s", w.ops.Trace())
	}
	if err != nil {
		if !strings.Contains(err.Error(), "list:") {
			w.t.Fatalf("a refusal without its place: %v", err)
		}
		return nil, false
	}
	w.hits.reset()
	rep, err := w.x.Apply(ctx, r, p, executor.Options{OnFailure: "undo"}, nil)
	w.touchedAsPlanned(p)
	if err != nil {
		w.failedLawfully(rep, err, was, list)
		return nil, false
	}
	w.asPlanned(p, was, rep)
	w.again(r)
	return rep, true
}

// failedLawfully: a run that failed and was undone leaves all as it was,
// and names the step's line.
func (w *world) failedLawfully(rep *executor.Report, err error, was snapshot, list string) {
	w.t.Helper()
	if rep == nil || rep.Failed == nil || !strings.HasPrefix(rep.Failed.Source, "list:") && rep.Failed.Step != "" &&
		strings.Contains(list, rep.Failed.Step) {
		w.t.Fatalf("a failure without its place: %v %+v", err, rep)
	}
	times := edited([]string{list})
	if d := differs(withoutTime(was, times), withoutTime(w.look(), times), nothing); len(d) > 0 {
		w.t.Fatalf("a failed run (%v) left:\n%s\nnotes: %q", err, strings.Join(d, "\n"), rep.Notes)
	}
}

// asPlanned: what changed is what the plan said, no less and no more.
func (w *world) asPlanned(p *plan.Plan, was snapshot, rep *executor.Report) {
	w.t.Helper()
	planned := map[string]plan.Change{}
	for _, c := range p.Changes {
		if !c.Action.Mutates() {
			continue
		}
		if c.To == nil {
			c.To = &image.Image{}
		}
		if at := c.Addr.Path(); at != "" {
			planned[at] = c
		} else if k := c.Addr.Kind(); k == addr.KindPkg || k == addr.KindUnit {
			planned[string(c.Addr)] = c
		}
	}
	is := w.look()
	for k := range union(was, is) {
		if was[k] != is[k] && !under(strings.TrimSuffix(k, linesOf), planned) {
			w.t.Fatalf("%q changed, and the plan (%s) does not say so:\nwas %s\nis  %s", k, actions(p), was[k], is[k])
		}
	}
	for at, c := range planned {
		if was[at] == is[at] && len(rep.Notes) == 0 && c.From.Known() && !c.From.Same(*c.To) &&
			!under(path.Dir(at), planned) {
			w.t.Fatalf("the plan says %s %s (%s), and nothing changed: %s", c.Action, at, c.Why, is[at])
		}
	}
}

// under tells whether a path is one that the plan changes, or lies below one,
// or belongs to accounts and commands, which the plan names otherwise.
func under(p string, planned map[string]plan.Change) bool {
	if strings.HasPrefix(p, "/etc/") || strings.HasPrefix(p, "/m/") || strings.HasPrefix(p, "/home/") {
		return true
	}
	for q := p; ; q = path.Dir(q) {
		if _, ok := planned[q]; ok {
			return true
		}
		if q == "/" || q == "." {
			return false
		}
	}
}

func union(a, b snapshot) map[string]bool {
	out := map[string]bool{}
	for k := range a {
		out[k] = true
	}
	for k := range b {
		out[k] = true
	}
	return out
}

// again: the same list twice changes nothing, and not a single operation runs.
func (w *world) again(r executor.Request) {
	w.t.Helper()
	ctx := context.Background()
	w.ops.Reset()
	p, err := w.x.Plan(ctx, r)
	if err != nil || len(p.Changes) > 0 {
		w.t.Fatalf("after apply the plan has: %v %s\n%+v", err, actions(p), p)
	}
	rep, err := w.x.Apply(ctx, r, nil, executor.Options{}, nil)
	if err != nil || rep.Run != 0 || w.ops.N() > 0 {
		w.t.Fatalf("the same list again made run %+v: %v\n%s", rep, err, w.ops.Trace())
	}
}

// backTo rolls back and compares the whole machine with what it was.
func (w *world) backTo(then past, lists []string) {
	w.t.Helper()
	r := executor.RollbackRequest{To: then.run, CrossIrreversible: true}
	p, err := w.x.PlanRollback(context.Background(), r)
	w.must(err)
	w.hits.reset()
	rep, err := w.x.Rollback(context.Background(), r, p, executor.Options{}, nil)
	w.touchedAsPlanned(p)
	if err != nil {
		w.t.Fatalf("rollback to %d: %v", then.run, err)
	}
	times := edited(lists)
	order := nothing // between two runs, lines and regions keep their places as nearly as the file allows
	if then.run > 0 {
		order = func(p string) bool { return times(p) || p == "/home/u1" } // and an account that stays keeps its home
	}
	if d := differs(withoutTime(then.seen, times), withoutTime(w.look(), times), order); len(d) > 0 {
		w.t.Fatalf("rollback to %d left:\n%s\nnotes: %q", then.run, strings.Join(d, "\n"), rep.Notes)
	}
	w.ops.Reset()
	drift, err := w.x.Drift(context.Background(), executor.DriftOptions{Verify: true})
	if err != nil || len(drift.Changes) > 0 || w.ops.N() > 0 {
		w.t.Fatalf("after the rollback to %d there is drift: %v %s", then.run, err, actions(drift))
	}
}

// history applies lists one after the other, then goes back to earlier runs in
// the order given, and to before fettle at last.
func (w *world) history(lists []string, order func(n int) int) {
	w.t.Helper()
	pasts := []past{{0, w.look()}}
	for _, list := range lists {
		if rep, ok := w.applyLawfully(list); ok && rep.Run > 0 {
			pasts = append(pasts, past{rep.Run, w.look()})
		}
	}
	for range 2 {
		w.backTo(pasts[order(len(pasts))], lists)
	}
	w.backTo(pasts[0], lists)
}

// TestLaws: on random trees, random lists keep the laws of plan, apply and
// rollback.
func TestLaws(t *testing.T) {
	rounds, first := lawRounds, 0 // of 100 cases, each with a seed of its own
	if testing.Short() {
		rounds = 1
	} else if part, of := sample.Part(); of > 1 {
		rounds = max(1, lawRounds/4)
		first = part * rounds
	}
	base, err := strconv.Atoi(flag.Lookup("rapid.seed").Value.String())
	if err != nil {
		t.Fatal(err)
	}
	for k := range rounds {
		if err := flag.Set("rapid.seed", strconv.Itoa(base+first+k)); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(rt *rapid.T) {
			newWorld(rt).randomHistory(rt)
		})
	}
}

// randomHistory makes a random tree and puts random lists on it.
func (w *world) randomHistory(rt *rapid.T) {
	d := dice{rt}
	w.mkdirs("/t")
	w.tree(d, "/t", 2)
	w.links("/t/links")
	seen := w.look()
	var lists []string
	homes, removes := d.oneIn("homes", 2), d.oneIn("removes", 2)
	for range 1 + d.n("lists", 3) {
		l := &lister{dice: d, seen: seen, all: w.fake, homes: homes, removes: removes}
		lists = append(lists, l.list())
	}
	for i, list := range lists {
		rt.Logf("list %d:\n%s", i+1, strings.ReplaceAll(list, names[5], "x*255"))
	}
	w.history(lists, func(n int) int { return d.n("back to", n) })
}

// TestLawsOnDisk is TestLaws on a file system, which keeps its own rules on
// modes, access lists and capabilities.
func TestLawsOnDisk(t *testing.T) {
	needs.Root(t)
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		w := onDisk(rt, root)
		defer w.close()
		w.randomHistory(rt)
	})
}
