package rollout_test

import (
	"fmt"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
)

// modules is the number of independent modules, each with its own rollout.
const modules = 100

func moduleName(k int) string { return fmt.Sprintf("modules/m%02d", k) }

// independent returns a fleet in which each target has one of the modules, which all get new content. Each change
// is a commit, so each module has its own rollout.
func independent(t testing.TB, n int) *fleet {
	t.Helper()
	f := newFleet(t, n, rollout.Careful())
	f.head = map[string]string{}
	for i, id := range sortedHosts(f) {
		f.hosts[id].only = moduleName(i % modules)
	}
	for k := range modules {
		f.head[moduleName(k)] = "1"
		f.step(0)
	}
	return f
}

// Rollouts of independent modules run at the same time. A bad change of a module stops only its own rollout, and a
// restart of the hub changes nothing.
func TestIndependentModules(t *testing.T) {
	f := independent(t, 2*modules)
	if n := len(f.s.Open()); n != modules {
		t.Fatalf("%d rollouts are open", n)
	}
	f.until(t, "the first content", func() bool { return len(f.s.Open()) == 0 })
	f.bad["bad"] = true
	began := f.now
	for k := range modules {
		f.head[moduleName(k)] = "2"
		if k%10 == 0 {
			f.head[moduleName(k)] = "bad"
		}
		f.step(0)
	}
	f.restart()
	f.until(t, "the end of all", func() bool { return len(f.s.Open()) == 0 })
	if took := f.now - began; took > 120 {
		t.Errorf("%d rollouts took %d seconds: they waited for each other", modules, took)
	}
	if good := f.have("2"); good != 2*modules*9/10 {
		t.Errorf("%d targets have the good content", good)
	}
	if bad := f.have("bad"); bad > 0 {
		t.Errorf("%d targets kept the bad content", bad)
	}
	for k := range modules {
		phase := rollout.Completed
		if k%10 == 0 {
			phase = rollout.RolledBack
		}
		if got := f.phase(fmt.Sprint("r", modules+k+1)); got != phase {
			t.Errorf("the rollout of %s is %s", moduleName(k), got)
		}
	}
}

// BenchmarkDecideMany measures decisions about many open rollouts that find nothing new.
func BenchmarkDecideMany(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("%d targets", n), func(b *testing.B) {
			f := independent(b, n)
			w := f.world()
			for b.Loop() {
				if events := f.s.Decide(w, f.now); len(events) > 0 {
					b.Fatal(events)
				}
			}
		})
	}
}
