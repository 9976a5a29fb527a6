package rollout_test

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/test/sample"
	"pgregory.net/rapid"
)

// TestRandomHistories plays random histories of a fleet. The judge checks each decision. At the end
// all hosts are online, no content fails and there are no commands: then each host gets the newest content. The commit
// selects the histories, so a repetition plays the same ones.
func TestRandomHistories(t *testing.T) {
	seed := flag.Lookup("rapid.seed").Value
	if seed.String() == "0" {
		_ = seed.Set(fmt.Sprint(sample.Seed()))
		defer seed.Set("0")
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := newFleet(t, rapid.IntRange(1, 25).Draw(rt, "hosts"), randomStrategy(rt))
		f.selects = newSelection()
		if rapid.Bool().Draw(rt, "organizations") {
			f.limitsOrganizations(rt)
			for _, id := range sortedHosts(f) {
				f.hosts[id].organization = rapid.SampledFrom(organizationNames()).Draw(rt, "organization")
			}
		}
		f.author = rapid.SampledFrom([][2]string{{}, {"Ann <a@x.org>", "ann"}}).Draw(rt, "author")
		f.tell = func(format string, args ...any) { rt.Fatalf(format+"\n%s", append(args, f.text())...) }
		for n := range rapid.IntRange(1, 60).Draw(rt, "events") {
			f.happens(rt, n)
			f.step(int64(rapid.SampledFrom([]int{1, 3, 20, 400}).Draw(rt, "seconds")))
		}
		f.calms(rt)
	})
}

func randomStrategy(rt *rapid.T) rollout.Strategy {
	s := rapid.SampledFrom([]rollout.Strategy{rollout.Careful(), rollout.AtOnce()}).Draw(rt, "strategy")
	s.MaxFailed = rapid.SampledFrom([]rollout.Amount{{}, {Number: 1}, {Number: 10, Percent: true}}).Draw(rt, "max failed")
	s.OnBreach = rapid.SampledFrom([]rollout.Reaction{rollout.Pause, rollout.Abort, rollout.Rollback}).Draw(rt,
		"on breach")
	s.WaveTimeout = rapid.SampledFrom([]int64{600, s.WaveTimeout}).Draw(rt, "wave timeout")
	if rapid.Bool().Draw(rt, "spread") {
		s.Spread = &rollout.Spread{Label: "rack", Max: rapid.IntRange(1, 2).Draw(rt, "members of a rack")}
	}
	s.Rate = rapid.SampledFrom([]int{0, 0, 2, 10}).Draw(rt, "rate")
	for i := range s.Waves {
		s.Waves[i].Bake = int64(rapid.SampledFrom([]int{0, 60}).Draw(rt, "bake"))
		s.Waves[i].Gates = randomGates(rt)
	}
	return s
}

// happens lets one thing happen.
func (f *fleet) happens(rt *rapid.T, n int) {
	ids := sortedHosts(f)
	id := rapid.SampledFrom(ids).Draw(rt, "host")
	h := f.hosts[id]
	switch rapid.IntRange(0, 44).Draw(rt, "event") {
	case 39:
		f.restoresSome(rt)
	case 40, 41, 42:
		f.approves(rt)
	case 43:
		f.limitsOrganizations(rt)
	case 44:
		h.organization = rapid.SampledFrom(organizationNames()).Draw(rt, "organization")
	case 35, 36, 37, 38:
		f.releases(rt, n)
	case 29, 30, 31, 32, 33, 34:
		f.regroups(rt, h, n)
	case 27, 28:
		f.loses(rapid.IntRange(1, 3).Draw(rt, "every"), h.online)
	case 24, 25, 26:
		f.selectsStrategy(rt, h, fmt.Sprintf("top%d", n))
	case 19, 20, 21, 22, 23:
		f.decideGates(rt)
	case 0, 1:
		part := rapid.SampledFrom([]string{"web", "db", "top"}).Draw(rt, "part")
		f.head[part] = fmt.Sprintf("%s%d", part, n)
		f.bad[f.head[part]] = rapid.IntRange(0, 2).Draw(rt, "bad") == 0
	case 2:
		delete(f.head, "db")
	case 3:
		f.head["web"] = rapid.SampledFrom([]string{"w1", "w2"}).Draw(rt, "old content")
	case 4, 5:
		h.online = !h.online
	case 6:
		f.add(fmt.Sprintf("n%02d", n))
	case 7:
		if len(f.hosts) > 1 {
			delete(f.hosts, id)
		}
	case 8:
		h.hold, h.closed = map[string]string{"": "a freeze", "a freeze": ""}[h.hold], false
	case 16:
		f.closes(rapid.IntRange(1, 3).Draw(rt, "every"), !h.closed)
	case 9:
		f.restart()
		f.resync = rapid.Bool().Draw(rt, "resync")
	case 10:
		f.resync = false
	case 11:
		h.lane = map[string]string{"main": "next", "next": "main"}[h.lane]
	case 12:
		f.next["web"] = fmt.Sprintf("next%d", n)
		f.bad[f.next["web"]] = rapid.IntRange(0, 2).Draw(rt, "bad") == 0
	case 15:
		h.broken = !h.broken
	case 17:
		f.after = !f.after
	case 13, 14:
		f.order(rt, id)
	}
	f.consistent()
}

// loses lets a part of the hosts lose their contact, or return.
func (f *fleet) loses(every int, lost bool) {
	for i, id := range sortedHosts(f) {
		if i%every == 0 {
			f.hosts[id].online = !lost
		}
	}
}

// closes closes or opens the windows of a part of the hosts.
func (f *fleet) closes(every int, closed bool) {
	for i, id := range sortedHosts(f) {
		if i%every == 0 {
			f.hosts[id].closed, f.hosts[id].hold = closed, map[bool]string{true: "a window"}[closed]
		}
	}
}

// order gives a random command. Many have no meaning, and are refused.
func (f *fleet) order(rt *rapid.T, id rollout.ID) {
	var all []string
	for _, r := range f.s.Open() {
		all = append(all, r.ID)
	}
	c := rollout.Command{Rollout: rapid.SampledFrom(append(all, "r1", "r99")).Draw(rt, "rollout"), By: "jane",
		Why: "a test",
		Action: rapid.SampledFrom([]rollout.Action{rollout.ToPause, rollout.ToResume, rollout.ToAbort, rollout.ToRollback,
			rollout.ToPromote, rollout.ToSkip, rollout.ToRetry, rollout.ToRelease}).Draw(rt, "action")}
	if c.Action == rollout.ToSkip || c.Action == rollout.ToRetry {
		c.Target = id
	}
	log, err := f.s.Order(c, f.now)
	if (err == nil) != (len(log) > 0) {
		f.tell("%v: %v, %v", c, log, err)
	}
	f.log = append(f.log, log...)
}

// calms ends all disturbances, and expects that each host gets the head.
func (f *fleet) calms(rt *rapid.T) {
	for _, h := range f.hosts {
		h.online, h.hold, h.closed, h.broken = true, "", false, false
	}
	f.resync = false
	f.bad = map[string]bool{}
	fresh := rapid.Bool().Draw(rt, "new content")
	if fresh {
		f.head["web"], f.head["top"], f.head["db"] = "web-end", "top-end", "db-end"
		f.groups.digest = "extra-end"
		f.group("top-end", "all") // a removal can be held, and new content does not release it
		f.groups.role["next-end"] = "all"
		f.next["web"], f.next["top"], f.next["db"] = "next-end", "next-end", "next-end"
	}
	done := func() bool {
		for _, h := range f.hosts {
			if len(f.wants(h)) > 0 || h.health != rollout.Healthy {
				return false
			}
		}
		return len(f.s.Open()) == 0
	}
	for end := f.now + 3000; !done(); f.step(5) {
		if !fresh {
			f.yields()
		}
		f.consents()
		f.agree()
		if f.now > end {
			rt.Fatalf("no end\n%s\n%s", f.text(), f.open())
		}
	}
}

// yields orders everything that lets all hosts have the head.
func (f *fleet) yields() {
	for _, r := range f.sorted() {
		all := []rollout.Command{{Action: rollout.ToResume}, {Action: rollout.ToRelease}}
		for _, id := range slices.Sorted(maps.Keys(r.Members)) {
			all = append(all, rollout.Command{Action: rollout.ToRetry, Target: id})
		}
		for _, c := range all {
			c.Rollout = r.ID
			log, _ := f.s.Order(c, f.now)
			f.log = append(f.log, log...)
		}
	}
}

// sorted returns all rollouts by ID.
func (f *fleet) sorted() (out []*rollout.Rollout) {
	for _, id := range slices.Sorted(maps.Keys(f.s.Rollouts)) {
		out = append(out, f.s.Rollouts[id])
	}
	return out
}

// open describes the rollouts that have not ended, and the missing changes of hosts.
func (f *fleet) open() (out string) {
	for _, r := range f.s.Open() {
		out += fmt.Sprintf("%s %s wave %d of %d\n", r.ID, r.Phase, r.Wave, len(r.Plan.Waves))
		for id, m := range r.Members {
			out += fmt.Sprintf("  %s %+v %+v\n", id, *m, f.hosts[id])
		}
	}
	for id, h := range f.hosts {
		for _, c := range f.wants(h) {
			allowed, why := f.s.Permits(id, f.target(h), c)
			out += fmt.Sprintf("%s wants %v: %v, %s\n", id, c, allowed, why)
		}
	}
	return out
}
