package elastic_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/internal/fleet/elastic"
)

// histories is the number of histories of make test.
func histories() int {
	if os.Getenv("FETTLE_LONG") != "" {
		return 20_000
	}
	return 700
}

func (w *world) report(t *testing.T, seed uint64) {
	t.Helper()
	if len(w.judge.broken) > 0 {
		t.Fatalf("seed %d:\n%s\n%s", seed, strings.Join(w.judge.log, "\n"), strings.Join(w.judge.broken, "\n"))
	}
}

// TestHistories: 50 hosts have random faults for 50 minutes, and then no faults for an hour. The load is random.
func TestHistories(t *testing.T) {
	kinds := map[elastic.Kind]int{}
	for seed := range uint64(histories()) {
		w := newWorld(seed, 1+int(seed%5))
		w.policy.Voters = 1 + 2*w.dice.IntN(3)
		for range 300 {
			w.fault()
			w.live()
			w.report(t, seed)
		}
		w.calmDown()
		for range 440 { // five hubs need over an hour to become one hub, in single steps
			w.live()
			w.report(t, seed)
		}
		w.judge.end(15 * time.Minute)
		w.report(t, seed)
		for _, line := range w.judge.log {
			kinds[elastic.Kind(strings.Fields(line)[2])]++
		}
	}
	for _, k := range []elastic.Kind{elastic.Nominate, elastic.Vote, elastic.Empty, elastic.Retire, elastic.Withdraw} {
		if kinds[k] < histories()/2 {
			t.Errorf("%d changes %s in %d histories", kinds[k], k, histories())
		}
	}
}

// fault lets random faults happen.
func (w *world) fault() {
	m := w.machines[w.dice.IntN(len(w.machines))]
	if hubs := w.all(); w.chance(50) {
		m = hubs[w.dice.IntN(len(hubs))].machine
	}
	until := func(most time.Duration) int64 { return w.now + w.dice.Int64N(most.Milliseconds()) }
	switch n := w.dice.IntN(200); {
	case n < 4:
		m.downUntil = until(10 * time.Minute)
	case n < 6:
		m.farUntil = until(10 * time.Minute)
	case n < 8:
		m.fullUntil = until(10 * time.Minute)
	case n < 9:
		m.skew, w.judge.skewed = int64(w.dice.IntN(2*maxSkew))-maxSkew, true
	case n < 10:
		m.willing = !m.willing
	case n < 11 && w.spare(m):
		w.judge.note("%s is destroyed", m.name)
		m.gone = true
	case n < 14:
		w.agents = []int{10, 100, 500, 900, 1500, 2500, 4000, 7000}[w.dice.IntN(8)]
	case n < 15:
		m.mute = w.chance(30)
	case n < 20:
		w.disaster(m)
	}
}

// disaster is a fault of several hosts, or an operation of an operator.
func (w *world) disaster(m *machine) {
	switch w.dice.IntN(6) {
	case 0: // all hubs restart
		for _, h := range w.all() {
			h.downUntil = w.now + w.dice.Int64N(60_000)
		}
	case 1: // a failure domain is separated
		for _, other := range w.machines {
			if other.domain == m.domain {
				other.farUntil = w.now + 240_000
			}
		}
	case 2: // a host flaps
		if m.downUntil = w.now + 20_000; w.chance(80) {
			m.farUntil = w.now + 40_000
		}
	case 3:
		if h := w.hubs[m.name]; h == nil && w.chance(20) && w.near(m) {
			w.judge.note("an operator joins %s", m.name)
			w.hubs[m.name] = &hub{machine: m, fixed: true, ready: w.now}
		}
	case 4:
		w.policy.Max = 3 + w.dice.IntN(5)
	case 5:
		w.policy.Mode = []elastic.Mode{elastic.Act, elastic.Act, elastic.Propose, elastic.Off}[w.dice.IntN(4)]
	}
}

// spare reports whether most voters remain if a machine is destroyed.
func (w *world) spare(m *machine) bool {
	left, all := 0, 0
	for _, h := range w.voters() {
		if all++; !h.gone && h.machine != m {
			left++
		}
	}
	return 2*left > all
}

// calmDown ends all faults. Hosts that were destroyed do not return.
func (w *world) calmDown() {
	w.judge.note("no faults from now on")
	w.calm, w.policy.Mode = true, elastic.Act
	for _, m := range w.machines {
		m.downUntil, m.farUntil, m.fullUntil, m.skew = 0, 0, 0, 0
	}
}

// TestOneFaultAtATime: three hubs in three failure domains. Again and again, one whole domain fails, or one hub is
// destroyed. A leader is missing only during an election, because a failed voter is replaced in time.
func TestOneFaultAtATime(t *testing.T) {
	for seed := range uint64(histories() * 3 / 7) {
		w := newWorld(seed, 3)
		w.policy.Min, w.calm = 3, true
		for i, m := range w.machines { // enough hosts in each failure domain
			m.domain, m.willing = fmt.Sprintf("d%d", i%3), true
		}
		for range 60 {
			w.live()
		}
		if len(w.voters()) != 3 {
			t.Fatalf("seed %d: %d voters", seed, len(w.voters()))
		}
		for range 4 {
			w.oneFault()
			for range 60 {
				w.live()
				if w.now-w.judge.leaderAt > 30_000 {
					w.judge.failf("no hub led for %d ms", w.now-w.judge.leaderAt)
				}
				w.report(t, seed)
			}
		}
	}
}

// oneFault lets one hub or one failure domain fail.
func (w *world) oneFault() {
	voters := w.voters()
	h := voters[w.dice.IntN(len(voters))]
	w.judge.note("%s of %s fails, and %s leads", h.name, h.domain, w.leader)
	switch w.dice.IntN(3) {
	case 0:
		h.gone = true
	case 1:
		h.downUntil = w.now + w.dice.Int64N(500_000)
	case 2:
		for _, m := range w.machines {
			if m.domain == h.domain {
				m.farUntil = w.now + w.dice.Int64N(300_000)
			}
		}
	}
}

// TestOrderOfInput: the order of hubs and nodes does not matter, and Decide modifies nothing.
func TestOrderOfInput(t *testing.T) {
	for seed := range uint64(30) {
		w := newWorld(seed, 3)
		w.agents = 4000
		for range 100 {
			w.live()
			if w.leader == "" {
				continue
			}
			before := fmt.Sprintf("%#v", w.stored)
			a, first := elastic.Decide(w.stored, w.observe(), w.now+10_000)
			b, second := elastic.Decide(w.stored, w.observe(), w.now+10_000)
			if fmt.Sprintf("%#v %#v", a, first) != fmt.Sprintf("%#v %#v", b, second) {
				t.Fatalf("%#v\n%#v", first, second)
			}
			if after := fmt.Sprintf("%#v", w.stored); after != before {
				t.Fatalf("%s\n%s", before, after)
			}
		}
	}
}
