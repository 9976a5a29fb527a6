package push_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/push"
)

func (x *site) phase() rollout.Phase {
	if r := x.machine.Rollout(); r != nil {
		return r.Phase
	}
	return ""
}

func (x *site) count(content string) (n int) {
	for _, h := range x.hosts {
		if h.has() == content {
			n++
		}
	}
	return n
}

func (x *site) tasks(op push.Operation) (n int) {
	for _, t := range x.done {
		if t.Operation == op {
			n++
		}
	}
	return n
}

func TestGoodChange(t *testing.T) {
	x := newSite(10, rollout.Careful())
	x.play()
	if x.phase() != rollout.Completed || x.count("new") != 10 || x.tasks(push.Return) != 0 {
		t.Errorf("%s, %d have the content", x.phase(), x.count("new"))
	}
}

// TestShortReadyTime: a target is checked again when it can be ready, if this is before the next regular check.
func TestShortReadyTime(t *testing.T) {
	s := rollout.Careful()
	s.MinReadyTime = 1
	x := newSite(3, s)
	x.play()
	if took := x.now - 1000; x.phase() != rollout.Completed || took > 3*4 {
		t.Errorf("%s after %d s", x.phase(), took)
	}
}

// TestBadChange: only the first target gets the change, and it returns.
func TestBadChange(t *testing.T) {
	for _, sickness := range []int64{0, 7} {
		x := newSite(10, rollout.Careful())
		for _, h := range x.hosts {
			h.breaks, h.sickness = true, sickness
		}
		x.play()
		if x.phase() != rollout.RolledBack || x.count("old") != 10 || x.tasks(push.Apply) != 1 {
			t.Errorf("after %d s: %s, %d have the previous content, %d were changed", sickness, x.phase(), x.count("old"),
				x.tasks(push.Apply))
		}
	}
}

// TestNothingToDo: no rollout begins if no target differs, also if one is out of reach.
func TestNothingToDo(t *testing.T) {
	x := newSite(3, rollout.Careful())
	for name, h := range x.hosts {
		h.next("new")
		h.away = name == "web02"
	}
	x.play()
	if x.machine.Rollout() != nil || x.now > 1020 {
		t.Errorf("%s after %d s", x.phase(), x.now-1000)
	}
}

// TestSomeHaveIt: targets that have the content already do not prove it for the others.
func TestSomeHaveIt(t *testing.T) {
	x := newSite(4, rollout.Careful())
	x.hosts["web01"].next("new")
	x.step(nil)
	x.step(nil)
	if r := x.machine.Rollout(); r == nil || len(r.Members) != 3 || x.count("new") > 2 {
		t.Errorf("%+v, %d have the content", r, x.count("new"))
	}
}

// TestAway: the wave takes another target, and the rollout ends with an exception.
func TestAway(t *testing.T) {
	x := newSite(10, rollout.Careful())
	x.hosts["web03"].away, x.hosts["web04"].refuses = true, true
	x.play()
	if x.phase() != rollout.WithExceptions || x.count("new") != 8 {
		t.Errorf("%s, %d have the content", x.phase(), x.count("new"))
	}
}

// TestPaused: a rollout that paused continues only if the order says so.
func TestPaused(t *testing.T) {
	s := rollout.Careful()
	s.OnBreach = rollout.Pause
	x := newSite(4, s)
	for _, h := range x.hosts {
		h.breaks = true
	}
	x.play()
	if x.phase() != rollout.OnHold {
		t.Fatalf("%s", x.phase())
	}
	for _, h := range x.hosts {
		h.breaks = false
	}
	was := x.count("new")
	x.boot()
	x.play()
	if x.phase() != rollout.OnHold || x.count("new") != was {
		t.Errorf("without a resume: %s, %d have the content", x.phase(), x.count("new"))
	}
	x.order.Resume = true
	x.boot()
	x.play()
	if x.phase() != rollout.Completed && x.phase() != rollout.WithExceptions && x.phase() != rollout.OnHold ||
		x.count("new") <= was {
		t.Errorf("after a resume: %s, %d have the content", x.phase(), x.count("new"))
	}
}

// TestForeignRun: a target on which another run came later is not rolled back.
func TestForeignRun(t *testing.T) {
	x := newSite(3, rollout.Careful())
	for _, h := range x.hosts {
		h.breaks, h.foreign = true, true
	}
	x.play()
	if x.phase() != rollout.RolledBack || x.count("foreign") != 1 || x.count("old") != 2 {
		t.Errorf("%s: %d and %d", x.phase(), x.count("foreign"), x.count("old"))
	}
}

// TestFirstContent: a target on which nothing was applied keeps the change.
func TestFirstContent(t *testing.T) {
	x := newSite(3, rollout.Careful())
	for _, h := range x.hosts {
		h.run, h.content, h.breaks = 0, map[int]string{0: "old"}, true
	}
	x.play()
	if x.phase() != rollout.RolledBack || x.count("new") != 1 || x.tasks(push.Return) != 0 {
		t.Errorf("%s: %d have the content", x.phase(), x.count("new"))
	}
}

func TestContinues(t *testing.T) {
	x := newSite(3, rollout.Careful())
	x.step(nil)
	other := func(change func(*push.Order)) push.Order {
		o := x.order
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		order push.Order
		want  bool
	}{
		"same":           {x.order, true},
		"other content":  {other(func(o *push.Order) { o.Content = "newer" }), false},
		"other strategy": {other(func(o *push.Order) { o.Strategy = rollout.AtOnce() }), false},
		"other targets":  {other(func(o *push.Order) { o.Targets = o.Targets[:2] }), false},
	} {
		if got := push.Continues(c.order, x.log); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	x.play()
	if push.Continues(x.order, x.log) || push.Continues(x.order, nil) {
		t.Error("a rollout continues that has ended")
	}
}

// TestHistories plays random fleets, with faults, losses of contact, and kills of the command.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rollout.Careful()
		s.MaxFailed = rollout.Amount{Number: rapid.IntRange(0, 2).Draw(t, "max_failed")}
		reactions := []rollout.Reaction{rollout.Rollback, rollout.Rollback, rollout.Abort}
		s.OnBreach = rapid.SampledFrom(reactions).Draw(t, "reaction")
		s.WaveTimeout = 600
		x := newSite(rapid.IntRange(1, 8).Draw(t, "targets"), s)
		bad := rapid.IntRange(0, 3).Draw(t, "bad") == 0
		for _, name := range x.order.Targets {
			h := x.hosts[name]
			h.breaks = bad || rapid.IntRange(0, 7).Draw(t, "breaks") == 0
			h.sickness = rapid.Int64Range(0, 20).Draw(t, "sickness")
			h.refuses = rapid.IntRange(0, 15).Draw(t, "refuses") == 0
		}
		x.random(t)
		x.judge(t)
	})
}

// random plays with random ends of tasks, and then until the end.
func (x *site) random(t *rapid.T) {
	for range rapid.IntRange(0, 60).Draw(t, "steps") {
		switch rapid.IntRange(0, 19).Draw(t, "what") {
		case 0:
			x.boot()
		case 1, 2:
			h := x.hosts[rapid.SampledFrom(x.order.Targets).Draw(t, "host")]
			h.away = !h.away
		case 3:
			x.now += rapid.Int64Range(1, 400).Draw(t, "wait")
		}
		if !x.step(func(string) bool { return rapid.Bool().Draw(t, "ends") }) {
			return
		}
		if len(x.running) > x.order.Parallel {
			t.Fatalf("%d tasks at once", len(x.running))
		}
	}
	for _, h := range x.hosts {
		h.away = false
	}
	x.boot()
	x.play()
}

// judge checks the end: the number of targets that failed is within the limits, and after a rollback no target that
// can return has the change.
func (x *site) judge(t *rapid.T) {
	r := x.machine.Rollout()
	if r == nil {
		return
	}
	failed := 0
	for name, h := range x.hosts {
		m := r.Members[rollout.ID(name)]
		if h.earlier || h.missed {
			continue
		}
		if h.has() == "new" && m == nil {
			t.Fatalf("%s has the change and takes no part", name)
		}
		if h.has() == "new" && h.breaks && h.sickness < r.Plan.Strategy.MinReadyTime {
			failed++
		}
		if r.Phase == rollout.RolledBack && h.has() == "new" && !h.refuses {
			t.Fatalf("%s has the change after the rollback: %+v", name, *m)
		}
		if r.Phase == rollout.Completed && h.has() != "new" && !h.refuses {
			t.Fatalf("%s does not have the change: %+v", name, *m)
		}
	}
	if failed > r.WorstCase() {
		t.Fatalf("%d failed, worst case %d", failed, r.WorstCase())
	}
}

func ExampleMachine() {
	m := push.New(push.Order{Strategy: rollout.AtOnce(), Content: "d1", Targets: []string{"web1"}, Parallel: 10})
	for now := int64(1); !m.Finished(); now++ {
		tasks, _ := m.Next(now)
		for _, t := range tasks {
			fmt.Println(t.Operation, t.Target)
			m.Ended(t, push.Result{Reached: true, OK: true, Changes: t.Operation == push.Plan, Run: 1}, now)
		}
	}
	fmt.Println(m.Rollout().Phase)
	// Output:
	// plan web1
	// apply web1
	// completed
}
