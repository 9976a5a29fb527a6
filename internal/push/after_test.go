package push_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/push"
)

// dependent returns a site where web03 and later targets wait for web01 and web02.
func dependent(n, least int) *site {
	s := rollout.Careful()
	s.WaveTimeout = 600
	x := newSite(n, s)
	x.order.Afters = []push.After{{Module: "db", On: x.order.Targets[:2], Waiting: x.order.Targets[2:], Least: least}}
	x.boot()
	return x
}

func (x *site) waves() string {
	var out []string
	for _, w := range x.machine.Rollout().Plan.Waves {
		out = append(out, fmt.Sprint(w.Name, len(w.Members)))
	}
	return strings.Join(out, ", ")
}

// TestAfter: targets that wait get the change in later waves, when enough other targets are ready.
func TestAfter(t *testing.T) {
	x := dependent(12, 2)
	x.order.Strategy.Waves = append([]rollout.WaveRule{{Name: "tenth", Size: rollout.Amount{Number: 20, Percent: true}}},
		x.order.Strategy.Waves...)
	x.boot()
	x.play()
	if x.phase() != rollout.Completed || x.count("new") != 12 || len(x.early) > 0 ||
		x.waves() != "tenth1, first1, tenth of stage 22, first of stage 21, early of stage 21, rest of stage 26" {
		t.Errorf("%s, %d have the change, too early: %v; %s", x.phase(), x.count("new"), x.early, x.waves())
	}

	x = dependent(6, 2)
	x.hosts["web02"].away = true
	x.play()
	if x.phase() != rollout.OnHold || x.count("new") != 1 {
		t.Errorf("without contact: %s, %d have the change", x.phase(), x.count("new"))
	}
	x.hosts["web02"].away, x.order.Resume = false, true
	x.boot()
	x.play()
	if x.phase() != rollout.Completed || x.count("new") != 6 || len(x.early) > 0 {
		t.Errorf("with contact again: %s, %d have the change, too early: %v", x.phase(), x.count("new"), x.early)
	}

	x = dependent(6, 1)
	x.hosts["web02"].away = true
	x.play()
	if x.phase() != rollout.WithExceptions || x.count("new") != 5 {
		t.Errorf("one is enough: %s, %d have the change", x.phase(), x.count("new"))
	}
}

// TestAllWait: no rollout begins if the other targets have the content, and are not ready.
func TestAllWait(t *testing.T) {
	x := dependent(4, 2)
	x.hosts["web01"].next("new")
	x.hosts["web02"].away = true
	x.play()
	if why := x.machine.AllWait(); x.machine.Rollout() != nil ||
		why != "web03: it waits for db: the module is ready on 1 of 2 other targets, and must be on 2; for example web02 "+
			"is not ready" {
		t.Errorf("%q %v", why, x.machine.Rollout())
	}
	x = dependent(4, 2)
	x.hosts["web01"].next("new")
	x.hosts["web02"].next("new")
	x.play()
	if x.phase() != rollout.Completed || x.count("new") != 4 {
		t.Errorf("%s", x.phase())
	}
}

// TestImpossible: dependences that the command cannot honour are refused.
func TestImpossible(t *testing.T) {
	all := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		afters []push.After
		want   string
	}{
		"none":          {nil, ""},
		"nothing waits": {[]push.After{{On: nil, Least: 2}}, ""},
		"fits":          {[]push.After{{Module: "db", On: all[:2], Waiting: all[2:], Least: 2}}, ""},
		"not selected": {[]push.After{{Module: "db", On: all[:1], Waiting: all[1:], Least: 2}},
			"b waits until db is ready on 2 other"},
		"itself": {[]push.After{{Module: "db", On: all[:1], Waiting: all[:2], Least: 1}}, ""},
		"each other": {[]push.After{{Module: "db", On: all, Waiting: all, Least: 3}},
			"the targets a, b, c wait for each other"},
		"one of them": {[]push.After{{Module: "db", On: all, Waiting: all, Least: 1}}, ""},
		"a cycle": {[]push.After{{Module: "db", On: all[:1], Waiting: all[1:], Least: 1},
			{Module: "web", On: all[1:2], Waiting: all[:1], Least: 1}}, "wait for each other"},
	} {
		if got := (push.Order{Targets: all, Afters: c.afters}).Impossible(); !strings.Contains(got, c.want) ||
			c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestHistoriesOfDependences plays random fleets whose targets wait for each other.
func TestHistoriesOfDependences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 8).Draw(t, "targets")
		x := dependent(n, rapid.IntRange(1, 2).Draw(t, "least"))
		if rapid.Bool().Draw(t, "three stages") {
			x.order.Afters[0].Waiting = x.order.Targets[2:3]
			x.order.Afters = append(x.order.Afters, push.After{Module: "web", On: x.order.Targets[2:3],
				Waiting: x.order.Targets[3:], Least: 1})
		}
		x.order.Strategy.OnBreach = rapid.SampledFrom([]rollout.Reaction{rollout.Rollback, rollout.Abort}).Draw(t, "reaction")
		x.boot()
		for _, name := range x.order.Targets {
			x.hosts[name].breaks = rapid.IntRange(0, 7).Draw(t, "breaks") == 0
		}
		x.random(t)
		x.judge(t)
		if len(x.early) > 0 {
			t.Fatalf("%v got the change too early", x.early)
		}
		if r := x.machine.Rollout(); r != nil && r.Phase == rollout.Completed && x.count("new") != n {
			t.Fatalf("%d have the change", x.count("new"))
		}
	})
}

// dependences notes targets that got the change before enough others had it.
func (x *site) dependences(granted string) {
	for _, a := range x.order.Afters {
		ready := 0
		for _, on := range a.On {
			if x.hosts[on].has() == "new" {
				ready++
			}
		}
		if slices.Contains(a.Waiting, granted) && ready < a.Least {
			x.early = append(x.early, granted)
		}
	}
}
