package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fettle.dev/fettle/test/bench/machine"
	"fettle.dev/fettle/test/gobuild"
	"fettle.dev/fettle/test/needs"
)

// TestMain is the command itself for the processes that it starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "limit" || isShare(os.Args[1:]) {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestFleet: all is measured with some agents: they enrol, get what is theirs, hear of a
// commit, and come back to a hub that was killed. The same with more is make bench-fleet.
func TestFleet(t *testing.T) {
	needs.Program(t, "git")
	dir := t.TempDir()
	bin := filepath.Join(dir, "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	s, err := parseFlags([]string{"-fettle", bin, "-agents", "20", "-modules", "5", "-rounds", "1", "-rest", "0s",
		"-limits=false", "-careful=false", "-attackers", "0", "-concurrent", "3", "-pages", "12", "-out", "",
		"-date", "2026-01-31"})
	if err != nil {
		t.Fatal(err)
	}
	s.files = 4000
	n := 20
	if os.Getenv("FETTLE_LONG") != "" {
		n = 200
	}
	ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
	defer stop()
	r, err := measure(ctx, s, n)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.commits) != 1 || r.commits[0].reports < float64(n) || r.again.last <= 0 || r.lost.last <= 0 ||
		r.restored.known <= 0 || r.disk["assignments"] == 0 || r.disk["view"] == 0 {
		t.Errorf("not all was measured: %+v", r)
	}
	if w := r.waves[0]; w.first <= 0 || w.last < w.first || w.cpu <= 0 {
		t.Errorf("a rollout was not measured: %+v", w)
	}
	if w := r.watched; w.pages != 12 || len(w.commits) != 1 || w.commits[0].cpu <= 0 || w.every <= 0 {
		t.Errorf("open pages were not measured: %+v", w)
	}
	if c := r.concurrent; r.groups != 3 || c.first <= 0 || c.cpu <= 0 || r.together.last <= 0 {
		t.Errorf("concurrent rollouts were not measured: %+v, %+v", c, r.together)
	}
	got := report(s, []result{r}, []machine.Fact{{Name: "date", Value: "2026-01-31"}})
	if !strings.Contains(got, "| 20 agents |") && n == 20 || !strings.Contains(got, "- date: 2026-01-31") {
		t.Errorf("the page is\n%s", got)
	}
}

// TestOneAddress: more agents of one address than the hub has places for strangers connect, and
// reconnect after it was killed. The hub refuses none of them. An attack from other addresses does not
// stop them. The same with thousands is make bench-fleet.
func TestOneAddress(t *testing.T) {
	needs.Program(t, "git")
	bin := filepath.Join(t.TempDir(), "fettle")
	if err := gobuild.Program(bin, gobuild.Fettle); err != nil {
		t.Fatal(err)
	}
	s, err := parseFlags([]string{"-fettle", bin, "-modules", "1", "-descriptors", "400", "-attackers", "100"})
	if err != nil {
		t.Fatal(err)
	}
	s.files = 4000
	b := &bench{settings: s, n: 100, base: t.TempDir(), out: result{n: 100}}
	unrefused := func(context.Context) error {
		if said := b.hub.said(); strings.Contains(said, "refused a connection") {
			return errors.New("the hub refused agents")
		}
		return nil
	}
	if err := b.run(t.Context(), b.restart, unrefused, b.besiege, b.once); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]contact{"first": b.out.met, "again": b.out.again, "besieged": b.out.besieged} {
		t.Logf("%s: %+v", what, c)
		if c.refused > 0 && what != "besieged" || c.cpu <= 0 || c.memory <= 0 {
			t.Errorf("%s: %+v", what, c)
		}
	}
}

func TestEndedByHub(t *testing.T) {
	for why, want := range map[string]bool{
		"dial tcp 127.0.0.1:1: connect: connection refused": false, "dial tcp 127.0.0.1:1: i/o timeout": false,
		"context deadline exceeded": false, "write: use of closed network connection": false,
		"EOF": true, "read: connection reset by peer": true, "the hub refused this agent": true,
	} {
		if endedByHub(why) != want {
			t.Errorf("%s: %t", why, !want)
		}
	}
}

func TestLimits(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{tlsAlone, busAlone} {
		if l, err := measureLimit(t.Context(), self, t.TempDir(), kind, 10, 0); err != nil || l.all <= 0 {
			t.Errorf("%s: %+v, %v", kind, l, err)
		}
	}
}

func TestSample(t *testing.T) {
	text := "# HELP a b\na{x=\"1\"} 5\nab 6\na 7.5\n"
	if v, err := sample(strings.NewReader(text), "a"); v != 7.5 || err != nil {
		t.Error(v, err)
	}
	if _, err := sample(strings.NewReader(text), "c"); err == nil {
		t.Error("found what is not there")
	}
}

func TestBusiest(t *testing.T) {
	at := func(ms ...int) (out []time.Duration) {
		for _, m := range ms {
			out = append(out, time.Duration(m)*time.Millisecond)
		}
		return out
	}
	for want, moments := range map[int][]time.Duration{0: nil, 1: at(0, 1000, 2000), 3: at(2500, 0, 900, 999),
		4: at(0, 500, 1100, 1200, 1400)} {
		if got := busiest(moments); got != want {
			t.Errorf("%v: %d, want %d", moments, got, want)
		}
	}
}

func TestPart(t *testing.T) {
	for rel, want := range map[string]string{"view.db-wal": "view",
		"bus/jetstream/$G/streams/KV_targets/msgs/1.blk": "targets",
		"bus/jetstream/$G/streams/LOG_events/meta.inf":   "log_events", "keys/hub.pem": "keys", "hub.json": "hub.json"} {
		if got := part(rel); got != want {
			t.Errorf("%s is of %s", rel, got)
		}
	}
}

func TestCarried(t *testing.T) {
	s := settings{agents: []int{1000, 11_428, 20_000}}
	if s.carried(20_000); !slices.Equal(s.agents, []int{1000, 11_428}) || s.short != 20_000 ||
		fetching(18_500, 20_000) != 1000 || fetching(1000, 20_000) != most {
		t.Errorf("%v, short of %d", s.agents, s.short)
	}
	s = settings{agents: []int{1000, 20_000}}
	if s.carried(1 << 18); !slices.Equal(s.agents, []int{1000, 20_000}) || s.short != 0 {
		t.Errorf("%v, short of %d", s.agents, s.short)
	}
}

func TestFlags(t *testing.T) {
	for _, bad := range [][]string{{"-agents", "0"}, {"-agents", "x"}, {"-modules", "0"}, {"-rounds", "0"}, {"more"}} {
		if _, err := parseFlags(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
