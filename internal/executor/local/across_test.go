package local_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/journal"
	"fettle.dev/fettle/test/sample"
)

// turn is one run of a history, and what others do when it has ended.
type turn struct {
	list   string
	byHand func(*world)
	// repaired tells that the next run repairs what others did.
	repaired bool
}

// across is a history of which a rollback to any of its runs must restore what
// the run after it found, and a rollback to the origin what was there before.
type across struct {
	name    string
	prepare func(*world)
	turns   []turn
}

// play runs the history on a new machine and returns what each run found; the
// last snapshot is of the end. With collect only the last run is kept.
func (a across) play(t *testing.T, collect bool) (w *world, found []snapshot) {
	t.Helper()
	w = newWorld(t)
	w.mkdirs("/t")
	a.prepare(w)
	var left snapshot
	for _, turn := range a.turns {
		if now := w.look(); len(found) > 0 && a.turns[len(found)-1].repaired {
			found = append(found, withoutTime(left, func(p string) bool { return p == "/t/x" }))
		} else {
			found = append(found, now)
		}
		_, err := w.x.Apply(context.Background(), request(t, turn.list), nil, executor.Options{}, nil)
		if fails := strings.Contains(turn.list, "EXEC fails"); fails != (err != nil) {
			t.Fatalf("%q: %v", turn.list, err)
		}
		left = w.look()
		if collect {
			_, err = w.x.Collect(context.Background(), journal.Retention{Runs: 1}, executor.Options{})
			w.must(err)
		}
		if turn.byHand != nil {
			turn.byHand(w)
		}
	}
	return w, append(found, w.look())
}

// is compares the machine with a snapshot.
func (w *world) is(what string, want snapshot) bool {
	w.t.Helper()
	timeless := func(p string) bool { return !strings.Contains(want[p], " mtime=") }
	d := differs(want, withoutTime(w.look(), timeless), nothing)
	if len(d) > 0 {
		w.t.(*testing.T).Errorf("%s left:\n%s", what, strings.Join(d, "\n"))
	}
	return len(d) == 0
}

func (a across) back(t *testing.T, to int) {
	w, found := a.play(t, false)
	last := len(a.turns)
	w.goBack(to)
	w.is(fmt.Sprintf("rollback to %d", to), found[to])
	w.goBack(last)
	w.is(fmt.Sprintf("undoing the rollback to %d", to), found[last])
	w.goBack(to)
	w.is(fmt.Sprintf("rollback to %d again", to), found[to])
	w.goBack(0)
	w.is("rollback to the origin", found[0])
}

func (w *world) goBack(to int) {
	w.t.Helper()
	_, err := w.x.Rollback(context.Background(), executor.RollbackRequest{To: to, CrossIrreversible: true}, nil,
		executor.Options{}, nil)
	w.must(err)
}

// chown gives a path another owner and mode.
func (w *world) chown(p string, uid, mode uint32) {
	w.t.Helper()
	n, err := w.aside.OpenNode(p)
	w.must(err)
	w.must(errors.Join(n.Chown(uid, uid), n.Chmod(mode), n.Close()))
}

// foreign makes a directory with files of others.
func foreign(w *world) {
	w.mkdirs("/t/app/deep")
	w.write("/t/app/f", "[main]\nx=1\ntwo\n")
	w.write("/t/app/deep/g", "deep\n")
	w.chown("/t/app/f", 33, 0o600)
	w.chown("/t/app/deep", 1000, 0o750)
}

func runs(lists ...string) (out []turn) {
	for _, l := range lists {
		out = append(out, turn{list: l})
	}
	return out
}

const (
	editF  = "EDIT /t/app/f line=added\n"
	keyF   = "EDIT /t/app/f key=x value=2\n"
	sameF  = "EDIT /t/app/f line=two\n"
	metaF  = "META /t/app/f mode=0644 owner=www\n"
	metaF2 = "META /t/app/f mode=0640\n"
	dir    = "MKDIR /t/app\n"
	dir700 = "MKDIR /t/app owner=root group=root mode=0700\n"
	purge  = "MKDIR /t/app purge=true\n"
	noApp  = "RM /t/app\n"
)

func histories() []across {
	list := []across{
		{"mode, then removal", foreign, runs("MKDIR /t/app mode=0700\n", "MKDIR /t/app mode=0711\n", noApp)},
		{"adopted, then mode, then removal", foreign, runs(dir, "MKDIR /t/app mode=0711\n", noApp)},
		{"drift repaired, then removal", foreign, []turn{{dir700, func(w *world) { w.chown("/t/app", 33, 0o777) }, true},
			{list: dir700 + "COPY 1 /t/x\n"}, {list: noApp}}},
		{"mode, then purge of the parent", foreign, runs("MKDIR /t/app mode=0700\n", "MKDIR /t/app mode=0711\n",
			"MKDIR /t purge=true\n")},
		{"removal, then made again", foreign, runs(dir+editF, noApp, dir, dir+"COPY 2 /t/app/f\n")},
		{"removal, then made again with others in it", foreign,
			[]turn{{list: dir}, {list: noApp}, {list: dir + "COPY 1 /t/app/mine\n"}, {list: dir}}},
		{"removal, then parts of it made again", foreign,
			runs(dir, noApp, dir+"COPY 2 /t/app/f\nMKDIR /t/app/deep\n", "COPY 2 /t/app/f\n", "MKDIR /t/app/deep\n")},
		{"removal, then a file", foreign, runs(dir+metaF, noApp, "COPY 1 /t/app\n", "LINK a /t/app\n")},
		{"file in it, then removal", foreign, runs(dir+"COPY 1 /t/app/mine\nCOPY 2 /t/app/f\n", dir+"COPY 1 /t/app/f\n",
			noApp, "COPY 1 /t/x\n")},
		{"purge given up", foreign, runs(purge, purge+"COPY 1 /t/app/f\n", dir, noApp)},
		{"purge of a subtree, then plain", foreign, runs(purge, purge+"MKDIR /t/app/deep mode=0750 owner=ann group=ann\n",
			purge)},
	}
	fails := "EXEC fails false\n"
	list = append(list,
		across{"a run that failed", foreign, runs("COPY 1 /t/a\nCOPY 1 /t/b\n",
			"COPY 2 /t/a\n"+fails+"COPY 2 /t/b\nCOPY 2 /t/c\n", "COPY 0 /t/a\nCOPY 0 /t/b\nCOPY 0 /t/c\n")},
		across{"a run that failed before a purge", foreign,
			runs("COPY 1 /t/a\n", "COPY 2 /t/a\n"+fails+purge+"COPY 1 /t/app/mine\n", "COPY 0 /t/a\n"+dir)},
		across{"a run that failed before a removal", foreign,
			runs("COPY 1 /t/a\n"+metaF, "COPY 2 /t/a\n"+fails+noApp, "COPY 0 /t/a\n"+noApp, dir)},
		across{"a run that failed among edits", foreign, runs(editF, "COPY 2 /t/a\n"+fails+keyF, keyF)},
		across{"a drift that a failed run did not reach", foreign,
			[]turn{{"COPY 1 /t/a\nCOPY 1 /t/b\n", func(w *world) { w.write("/t/b", "mine") }, false},
				{list: "COPY 2 /t/a\n" + fails + "COPY 1 /t/b\n"}}},
	)
	tamper := func(w *world) { w.write("/t/x", "EVIL"); w.chown("/t/x", 1000, 0o666) }
	same := func(w *world) { w.write("/t/x", "one\n"); w.chown("/t/x", 0, 0o644) }
	list = append(list,
		across{"adopted, tampered, repaired", same, []turn{{"COPY 1 /t/x\n", tamper, true}, {list: "COPY 1 /t/x\n"}}},
		across{"adopted, tampered, repaired, left", same,
			[]turn{{list: "COPY 1 /t/app2\n"}, {"COPY 1 /t/x\n", tamper, true}, {list: "COPY 1 /t/x\n"}, {list: ""}}},
		across{"adopted, tampered, updated", same, []turn{{"COPY 1 /t/x\n", tamper, false}, {list: "COPY 2 /t/x\n"}}},
		across{"edited by hand, then left", same, []turn{{"COPY 2 /t/x\n", tamper, false}, {list: ""}}},
		across{"edited by hand, then updated", same, []turn{{"COPY 2 /t/x\n", tamper, false}, {list: "COPY 0 /t/x\n"},
			{list: "COPY 1 /t/y\n"}}},
		across{"region edited by hand, then left", foreign,
			[]turn{{keyF, func(w *world) { w.write("/t/app/f", "[main]\nx=7\ntwo\n"); w.chown("/t/app/f", 33, 0o600) }, false},
				{list: ""}}},
		across{"metadata edited by hand, then left", foreign,
			[]turn{{metaF, func(w *world) { w.chown("/t/app/f", 1000, 0o666) }, false}, {list: ""}}},
		across{"metadata adopted, tampered, repaired", foreign,
			[]turn{{"META /t/app/f mode=0600\n", func(w *world) { w.chown("/t/app/f", 33, 0o666) }, true},
				{list: "META /t/app/f mode=0600\n"}}},
	)
	for name, region := range map[string]string{"line": editF, "key": keyF} {
		list = append(list,
			across{name + ", then the whole file too, then again only that", foreign,
				runs(region, "COPY 2 /t/app/f\n"+region, region)})
	}
	for name, region := range map[string]string{"line": editF, "key": keyF, "same line": sameF, "metadata": metaF} {
		list = append(list,
			across{name + ", then the whole file", foreign, runs(region, "COPY 1 /t/app/f\n", "COPY 2 /t/app/f mode=0600\n")},
			across{name + ", then the whole file in a purge", foreign, runs(purge+region, purge+"COPY 1 /t/app/f\n", purge)},
			across{name + ", then removal", foreign, runs(region, "RM /t/app/f\n", "COPY 1 /t/x\n")},
			across{name + ", then removal of the parent", foreign, runs(region, noApp, dir)},
			across{name + ", then purge", foreign, runs(dir+region, purge, "MKDIR /t purge=true\n")},
			across{name + " in a purge, then only the purge", foreign, runs(purge+region, purge, purge+"COPY 1 /t/app/mine\n")},
			across{name + " and another", foreign, runs(region, region+"EDIT /t/app/f block=b content=c\n", metaF2)},
		)
	}
	return list
}

// TestBackAcrossSeveralRuns: a rollback restores what each run found, also below
// directories that were removed, replaced or purged since.
func TestBackAcrossSeveralRuns(t *testing.T) {
	for _, a := range histories() {
		t.Run(a.name, func(t *testing.T) {
			for to := range a.turns {
				t.Run(fmt.Sprint(to), func(t *testing.T) {
					sample.ByName(t)
					a.back(t, to)
				})
			}
		})
	}
}

// TestLeavingAfterSeveralRuns: an empty list leads to what was there before
// fettle, whatever happened between, and also when only the last run is kept.
func TestLeavingAfterSeveralRuns(t *testing.T) {
	for _, a := range histories() {
		for name, leave := range map[string]func(*world){
			"empty list": func(w *world) {
				_, err := w.x.Apply(context.Background(), request(w.t, ""), nil, executor.Options{}, nil)
				w.must(err)
			},
			"rollback": func(w *world) { w.goBack(0) },
		} {
			for _, collect := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, collected %v", a.name, name, collect), func(t *testing.T) {
					sample.ByName(t)
					w, found := a.play(t, collect)
					leave(w)
					w.is(name, found[0])
				})
			}
		}
	}
}
