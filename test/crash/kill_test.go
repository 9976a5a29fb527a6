package crash

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fettle.dev/fettle/test/campaign"
	"fettle.dev/fettle/test/sample"
)

// tally is what a campaign tried.
type tally struct{ points, second, undone, done, bad atomic.Int64 }

// slack is by how many operations two runs may differ: the digest of the plan
// varies with the times of files, and so does which object directories are new.
const slack = 32

// policies are what recovery may be told.
var policies = []string{"undo", "finish"}

// long tells whether every operation is killed at, else each stride-th.
func long() bool { return os.Getenv("FETTLE_LONG") != "" }

// TestKill kills at every operation of an apply, and at some of a rollback; half
// of the points are finished, half undone, and most recoveries are killed as well.
func TestKill(t *testing.T) {
	s := newSite(t, first, second, func(s *site) { s.free = []string{"/etc/hosts"} })
	s.killAll(t, "paths", 1, 5)
}

// killAll kills the phases of a site at every stride-th operation, and recoveries
// at each of theirs.
func (s *site) killAll(t *testing.T, name string, strides ...int) {
	for i, p := range s.phases {
		stride := strides[i]
		if long() {
			stride = 1
		}
		s.killPhase(t, name, p, stride)
	}
	s.killRecovery(t, name)
}

func (s *site) killPhase(t *testing.T, name string, p phase, stride int) {
	t.Helper()
	var n tally
	var points []int
	for at := 1; at <= p.ops+slack; at += stride {
		points = append(points, at)
	}
	parallel(sample.Pick(points), func(at int) {
		for _, policy := range policies {
			s.kill(t, p, at, policy, &n)
		}
	})
	over := p.from.copy(t, filepath.Join(filepath.Dir(s.dir), "over-"+p.name))
	if out, err := over.run(p.ops+slack+1, "", p.args...); killed(err) {
		t.Errorf("the %s has more operations than were counted:\n%s", p.name, out)
	}
	n.record(t, name+", "+p.name,
		fmt.Sprintf("killed at points throughout its %d operations; most recoveries are killed too; both policies; compared, rolled back to the origin, compared", p.ops))
	if n.points.Load() >= 8 && n.second.Load()*2 < n.points.Load() { // a sample can consist of the last points only
		t.Errorf("only %d of %d recoveries were killed", n.second.Load(), n.points.Load())
	}
}

func (n *tally) record(t *testing.T, variant, detail string) {
	t.Helper()
	campaign.Record(t, campaign.Campaign{Name: "Kill", Variant: variant, Points: int(n.points.Load()),
		Hit: int(n.points.Load()), Lost: int(n.bad.Load()),
		Detail: fmt.Sprintf("%s (%d second kills, %d old, %d new)", detail, n.second.Load(), n.undone.Load(), n.done.Load())})
}

// parallel does something for each number, some at a time.
func parallel(todo []int, do func(int)) {
	next := make(chan int)
	var wg sync.WaitGroup
	for range 2 * runtime.NumCPU() {
		wg.Go(func() {
			for at := range next {
				do(at)
			}
		})
	}
	for _, at := range todo {
		next <- at
	}
	close(next)
	wg.Wait()
}

// badly gives a function that says what is wrong with one point.
func (n *tally) badly(t *testing.T, where string) func(string, ...any) {
	return func(what string, args ...any) {
		if n.bad.Add(1) <= 5 {
			t.Errorf("%s: %s", where, fmt.Sprintf(what, args...))
		}
	}
}

// kill tries one point.
func (s *site) kill(t *testing.T, p phase, at int, policy string, n *tally) {
	m := p.from.copy(t, filepath.Join(filepath.Dir(s.dir), fmt.Sprintf("%s-%s-%d", p.name, policy, at)))
	defer os.RemoveAll(m.dir)
	bad := n.badly(t, fmt.Sprintf("%s killed before operation %d, then %s", p.name, at, policy))
	out, err := m.run(at, "", p.args...)
	if err == nil && at > p.ops-slack {
		return
	}
	n.points.Add(1)
	if !killed(err) {
		bad("it was not killed: %v\n%s", err, out)
		return
	}
	dice := rand.New(rand.NewPCG(uint64(at), uint64(len(policy))))
	recovery := []string{"recover", "--on-crash", policy}
	if _, err := m.run(1+dice.IntN(20), "", recovery...); killed(err) {
		n.second.Add(1)
	}
	s.recovered(t, m, p, policy, n, bad)
}

// recovered recovers a machine and looks at it.
func (s *site) recovered(t *testing.T, m machine, p phase, policy string, n *tally, bad func(string, ...any)) {
	if out, err := m.run(0, "", "recover", "--on-crash", policy); err != nil {
		bad("recovery: %v\n%s", err, out)
		return
	}
	s.settled(t, m, p, n, bad)
}

// settled looks at a recovered machine and takes it back to its origin.
func (s *site) settled(t *testing.T, m machine, p phase, n *tally, bad func(string, ...any)) {
	now := m.tree(t)
	old, new := differs(now, p.old, s.without(p.old)), differs(now, p.new, s.without(p.old))
	switch {
	case len(old) == 0:
		n.undone.Add(1)
	case len(new) == 0:
		n.done.Add(1)
	default:
		bad("neither as before:\n\t%s\nnor as after:\n\t%s", strings.Join(old, "\n\t"), strings.Join(new, "\n\t"))
		return
	}
	if conf, is := now["/etc/app.conf"]; is && now["/run/loaded"].content() != conf.content() {
		bad("the action did not run: %q is configured, %q is loaded", conf.text, now["/run/loaded"].text)
	}
	if out, err := m.run(0, "", "rollback", "--yes", "0"); err != nil {
		bad("rollback: %v\n%s", err, out)
		return
	}
	if diff := differs(m.tree(t), s.origin, s.without(s.origin)); len(diff) > 0 {
		bad("not as at the origin:\n\t%s", strings.Join(diff, "\n\t"))
	}
}

// content is what a file holds, without its owner and mode.
func (l leaf) content() string {
	f := strings.Fields(l.text)
	return strings.Join(f[min(2, len(f)):], " ")
}

// without leaves out what is free: of files in which only a region is ours the
// time is that of the last change.
func (s *site) without(t tree) tree {
	out := maps.Clone(t)
	for _, p := range s.free {
		delete(out, p)
	}
	return out
}

// killRecovery kills recoveries of some killed runs at each of their operations,
// then lets another recover.
func (s *site) killRecovery(t *testing.T, name string) {
	t.Helper()
	var n tally
	for _, p := range s.phases {
		parts := []int{2}
		stride := 5
		if long() {
			parts, stride = []int{1, 2, 3, 4, 5}, 1
		}
		for _, part := range parts {
			for _, policy := range policies {
				s.killRecoveryOf(t, p, part*p.ops/6, policy, stride, &n)
			}
		}
	}
	n.record(t, name+", recovery",
		"a run is killed, its recovery is killed at points throughout it, a second recovery completes; compared, rolled back to the origin, compared")
}

func (s *site) killRecoveryOf(t *testing.T, p phase, at int, policy string, stride int, n *tally) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(s.dir), fmt.Sprintf("half-%s-%s-%d", p.name, policy, at))
	half := p.from.copy(t, dir)
	defer os.RemoveAll(half.dir)
	if out, err := half.run(at, "", p.args...); !killed(err) {
		t.Errorf("%s was not killed at %d: %v\n%s", p.name, at, err, out)
		return
	}
	whole := half.copy(t, dir+"-whole")
	defer os.RemoveAll(whole.dir)
	ops := whole.counted(t, "recover", "--on-crash", policy)
	var points []int
	for k := 1; k <= ops; k += stride {
		points = append(points, k)
	}
	parallel(sample.Pick(points), func(k int) {
		m := half.copy(t, fmt.Sprintf("%s-%d", dir, k))
		defer os.RemoveAll(m.dir)
		bad := n.badly(t, fmt.Sprintf("%s killed before operation %d, its recovery (%s) before %d", p.name, at, policy, k))
		n.points.Add(1)
		if _, err := m.run(k, "", "recover", "--on-crash", policy); killed(err) {
			n.second.Add(1)
		}
		s.recovered(t, m, p, policy, n, bad)
	})
}
