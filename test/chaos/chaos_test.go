package chaos

import (
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

// run is one run of faults on a world.
type run struct {
	*world
	fault   string // the present one
	jobs    []job
	over    map[string]bool // jobs that have ended
	frozen  map[string]bool // agents that may be frozen
	calls   int
	slow    []string
	longest time.Duration // from a commit to all agents
	// unreadable is while nobody can commit.
	unreadable bool
}

// TestChaos deals all kinds of faults in a random order, and again until the time is over: each
// kind at least once.
func TestChaos(t *testing.T) {
	requireLong(t)
	length, seed, only := options(t)
	w := newWorld(t, &world{jumps: true, hosts: agentCount})
	t.Logf("the fleet is there after %s", time.Since(w.began).Round(time.Second))
	c := &run{world: w, fault: "start", over: map[string]bool{}, frozen: map[string]bool{}}
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { w.watchNumbers(ctx) })
	defer func() { stop(); watching.Wait() }()
	c.converge()
	c.judge()
	began := time.Now()
	for done := false; !done; seed++ {
		r := rand.New(rand.NewPCG(seed, 0))
		for _, i := range r.Perm(len(faults)) {
			if only.MatchString(faults[i].name) {
				c.round(faults[i], r, seed)
			}
			if done = time.Since(began) > length && os.Getenv(envLong) == ""; done {
				break
			}
		}
		done = time.Since(began) > length
	}
	t.Logf("%d commits, %d jobs, %d calls in %s; the slowest commit took %s to arrive", w.head, len(c.jobs), c.calls,
		time.Since(began).Round(time.Second), c.longest.Round(time.Millisecond))
	for _, s := range append(c.slow, c.ends()...) {
		t.Log(s)
	}
}

// options are the length of the run, its first seed and the names of its faults.
func options(t *testing.T) (length time.Duration, seed uint64, only *regexp.Regexp) {
	length, seed = shortForm, 1
	var err error
	if text := os.Getenv(envFor); text != "" {
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv(envSeed); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if only, err = regexp.Compile(os.Getenv(envOnly)); err != nil {
		t.Fatal(err)
	}
	return length, seed, only
}

// round injects a fault, works beside it, heals it, and judges.
func (c *run) round(f fault, r *rand.Rand, seed uint64) {
	c.fault = f.name
	began := time.Now()
	heal := f.inject(c, r)
	c.work(r, time.Duration(2000+r.IntN(5000))*time.Millisecond)
	heal()
	healed := time.Now()
	c.converge()
	c.judge()
	c.t.Logf("seed %d: %s: %s, converged after %s", seed, f.name, time.Since(began).Round(100*time.Millisecond),
		time.Since(healed).Round(100*time.Millisecond))
}
