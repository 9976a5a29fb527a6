package apply_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"testing"

	"fettle.dev/fettle/internal/executor"
	"fettle.dev/fettle/internal/host"
	"fettle.dev/fettle/internal/host/fault"
	"fettle.dev/fettle/internal/move"
	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/sample"
)

// errnos are what operations fail with.
var errnos = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE,
	syscall.EINTR, syscall.EXDEV, syscall.EBUSY, syscall.EPERM}

// long tells whether every operation fails in every way; else each fails in one,
// in turn.
func long() bool { return os.Getenv("FETTLE_LONG") != "" }

// failing are the errors for operation at.
func failing(at int) []syscall.Errno {
	if long() {
		return errnos
	}
	k := (at + at/len(errnos)) % len(errnos)
	return errnos[k : k+1]
}

// results collects the tallies of a campaign by variant.
type results struct {
	mu  sync.Mutex
	all map[string]*tally
}

func (r *results) add(variant string, n tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[variant] == nil {
		r.all[variant] = &tally{}
	}
	r.all[variant].points += n.points
	r.all[variant].bad += n.bad
}

// everywhere runs a campaign on each scenario of the sample, and records it.
func everywhere(t *testing.T, name, detail string, try func(*testing.T, *bench, *results)) {
	r := &results{all: map[string]*tally{}}
	t.Run("all", func(t *testing.T) {
		for _, s := range sample.Pick(scenarios()) {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel()
				try(t, setUp(t, s, true, nil), r)
			})
		}
	})
	for variant, n := range r.all {
		campaign.Record(t, campaign.Campaign{Name: name, Variant: variant, Points: n.points, Hit: n.points, Lost: n.bad,
			Detail: detail})
	}
}

// TestFault lets each mutating operation fail, once or from then on.
func TestFault(t *testing.T) {
	everywhere(t, "Faults of operations",
		"one mutating operation fails, or this one and all later ones; the old state, the new state, or the exact error; recovered, applied again, rolled back; compared",
		func(t *testing.T, b *bench, r *results) {
			points := 0
			for _, sticky := range []bool{false, true} {
				for at := 1; ; at += stride {
					hit := false
					for _, errno := range failing(at) {
						var n tally
						hit = b.failAt(t, &fault.Plan{At: at, Err: errno, Sticky: sticky}, false, &n)
						r.add(fmt.Sprintf("%v, %s", errno, times(sticky)), n)
						points += n.points
					}
					if !hit {
						break
					}
				}
			}
			if points*stride < 2*b.ops-20 {
				t.Errorf("only %d faults were hit in twice %d operations", points, b.ops)
			}
		})
}

func times(sticky bool) string {
	if sticky {
		return "from then on"
	}
	return "once"
}

// TestShortWrites: each write stops in its middle.
func TestShortWrites(t *testing.T) {
	everywhere(t, "Faults of operations", "a write stops in its middle; then as above",
		func(t *testing.T, b *bench, r *results) {
			for at := 1; ; at += stride {
				var n tally
				hit := b.failAt(t, &fault.Plan{At: at, Err: syscall.ENOSPC, Only: host.OpWrite, Short: true, Sticky: at%2 == 0},
					true, &n)
				r.add("half a write", n)
				if !hit {
					break
				}
			}
		})
}

// TestFaultOfReads lets what looks at the machine or at the state fail too.
func TestFaultOfReads(t *testing.T) {
	const primes = 37 // there are many, and few of a kind
	everywhere(t, "Faults of operations", "one operation fails, also an operation that only reads; then as above",
		func(t *testing.T, b *bench, r *results) {
			step := primes * stride
			if long() {
				step = 3
			}
			for k, errno := range []syscall.Errno{syscall.EMFILE, syscall.EIO} {
				for at := 1 + k*step/2; ; at += step {
					var n tally
					hit := b.failAt(t, &fault.Plan{At: at, Err: errno, Reads: true, Sticky: at/step%2 == 1}, true, &n)
					r.add(fmt.Sprintf("%v, reads too", errno), n)
					if !hit {
						break
					}
				}
			}
		})
}

// failAt lets a run fail as planned, and finds what is wrong afterwards. It is
// false when the plan did not strike. Outside the plan strikes between engine
// and host, else within the host.
func (b *bench) failAt(t *testing.T, plan *fault.Plan, outside bool, n *tally) bool {
	t.Helper()
	at := plan.At
	o := executor.Options{OnFailure: []string{"stop", "undo"}[at%2], OnCrash: []string{"undo", "finish"}[at/2%2]}
	w := b.base.copy()
	op := "a look"
	if outside {
		w.plan = plan
	} else {
		w.tap.count = func(name, path string) error {
			err := plan.Count(name, path)
			if err != nil && op == "a look" {
				op = name + " " + path
			}
			return err
		}
	}
	rep, aerr := w.apply(t, b.second, o)
	w.tap.count, w.plan = nil, nil
	if !plan.Hit() {
		return false
	}
	n.points++
	where := fmt.Sprintf("operation %d (%s) fails with %v %s, %+v, error %v", at, op, plan.Err, times(plan.Sticky),
		[2]string{o.OnFailure, o.OnCrash}, aerr)
	if bad := b.said(t, w, plan, rep, aerr); len(bad) > 0 {
		n.report(t, where, bad)
	} else if bad := b.afterFault(t, w, o, n); len(bad) > 0 {
		n.report(t, where, bad)
	}
	return true
}

// said finds what is wrong with what a run said of itself: success is said only
// of the new state, and a failure names the error.
func (b *bench) said(t *testing.T, w *world, plan *fault.Plan, rep *executor.Report, err error) []string {
	t.Helper()
	if err == nil {
		return w.picture(t, b.units).differs(false, b.after)
	}
	if text := err.Error(); !strings.Contains(text, plan.Err.Error()) && !errors.Is(err, plan.Err) &&
		(rep == nil || !strings.Contains(fmt.Sprint(rep.Notes), plan.Err.Error())) {
		return []string{"the error does not say why: " + text}
	}
	return nil
}

// TestFailedSync lets each sync fail once. As on Linux, what it should have
// written stays readable and is never written: success may not be said, what was
// staged may not be used, and a power cut afterwards finds the state that
// recovery told of.
func TestFailedSync(t *testing.T) {
	everywhere(t, "Failed syncs",
		"one sync fails and its data never reach the disk; the run reports no success and uses no content that was staged before; after recovery and a power cut the result of the recovery is intact",
		func(t *testing.T, b *bench, r *results) {
			for _, kind := range []string{host.OpSync, host.OpSyncDir, host.OpSyncFS} {
				var n tally
				for at := 1; b.failSync(t, kind, at, &n); at += stride {
				}
				r.add(kind, n)
			}
		})
}

func (b *bench) failSync(t *testing.T, kind string, at int, n *tally) bool {
	t.Helper()
	plan := &fault.Plan{At: at, Only: kind, Err: syscall.EIO}
	w := b.base.copy()
	var since []string
	w.tap.count = func(op, p string) error {
		err := plan.Count(op, p)
		if plan.Hit() {
			since = append(since, op+" "+p)
		}
		return err
	}
	o := executor.Options{OnFailure: []string{"stop", "undo"}[at%2], OnCrash: []string{"undo", "finish"}[at/2%2]}
	_, aerr := w.apply(t, b.second, o)
	if !plan.Hit() {
		w.tap.count = nil
		return false
	}
	n.points++
	where := fmt.Sprintf("%s fails, %+v, error %v", since[0], [2]string{o.OnFailure, o.OnCrash}, aerr)
	bad := unstaged(since)
	_, rerr := w.recover(executor.Options{})
	w.tap.count = nil
	switch {
	case aerr == nil && !again(since):
		bad = append(bad, "success was said")
	case rerr != nil:
		bad = append(bad, "recovery: "+rerr.Error())
	}
	if len(bad) == 0 {
		bad = b.durable(t, w)
	}
	if len(bad) == 0 {
		bad = b.afterFault(t, w, o, n)
	}
	if len(bad) > 0 {
		n.report(t, where, bad)
	}
	return true
}

// again tells whether what a failed sync was about was done again, and synced:
// a file was made anew; the entries of a directory were synced by another call.
func again(since []string) bool {
	op, p, _ := strings.Cut(since[0], " ")
	if strings.Contains(p, "/cache") {
		return true // it can be made again from the rest
	}
	made := op != host.OpSync
	for _, line := range since[1:] {
		made = made || line == host.OpCreate+" "+p
		if made && (line == since[0] || op == host.OpSyncDir && strings.HasPrefix(line, host.OpSyncFS)) {
			return true
		}
	}
	return false
}

// unstaged finds renames of what was staged before a sync failed: in each
// directory something has to be made anew first.
func unstaged(since []string) []string {
	made := map[string]bool{}
	var bad []string
	for _, line := range since {
		op, p, _ := strings.Cut(line, " ")
		switch op {
		case host.OpCreate, host.OpMkdir, host.OpSymlink, host.OpMknod, host.OpLink:
			made[path.Dir(p)] = true
		case host.OpRename, host.OpRenameNew:
			if !made[path.Dir(p)] && !move.IsTemp(path.Base(p)) && !strings.HasPrefix(p, "/objects/") {
				bad = append(bad, "after that something staged before it was used: "+line)
			}
		}
	}
	return bad
}

// durable finds what a power cut takes from a machine that has been recovered:
// each address is as it was then, or the run whose last record was lost is taken
// back, and the state can be read.
func (b *bench) durable(t *testing.T, w *world) []string {
	t.Helper()
	was := w.picture(t, false)
	cut := w.crash(rand.New(rand.NewPCG(1, 2)))
	if how, err := cut.recover(executor.Options{}); err != nil {
		return []string{"after a power cut: " + how + ": " + err.Error()}
	}
	is := cut.picture(t, false)
	before, after := b.before, b.after
	before.at, after.at = maps.Clone(before.at), maps.Clone(after.at)
	for _, p := range []picture{before, after} { // a boot starts what is enabled
		p.at["unit:app"] = cutLast(p.at["unit:app"])
	}
	if bad := is.differs(false, was); len(bad) > 0 && len(is.differs(false, before)) > 0 &&
		len(is.differs(false, after)) > 0 {
		return append([]string{"a power cut after that leaves:"}, bad...)
	}
	return nil
}

// cutLast takes the last word away.
func cutLast(s string) string {
	return s[:max(0, strings.LastIndexByte(s, ' '))]
}
