package coordination

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/test/sample"
)

var (
	rounds = flag.Int("rounds", 0, "number of histories of each test; 0 is the usual one")
	seed   = flag.Uint64("seed", 0, "seed of the first history; 0 is the usual one")
)

// hostCount is the number of hosts of a history.
const hostCount = 20

// histories plays random histories in virtual time. play returns the broken guarantees.
func histories(t *testing.T, usual int, play func(s *site) []string) {
	t.Helper()
	first, n := *seed, *rounds
	if first == 0 {
		first = sample.Seed() >> 1
	}
	if n == 0 && os.Getenv("FETTLE_LONG") != "" {
		n = 10_000
	} else if n == 0 {
		n = usual
	}
	p := progress{t.Name(), first, time.Now(), time.Now()}
	var sum counts
	for i := range uint64(n) {
		p.show(i, sum)
		var wrong []string
		var story string
		var done *site
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, first+i)
			defer s.close()
			wrong = play(s)
			sum.add(s.count)
			story = strings.Join(s.story, "\n")
			done = s
		})
		if done.check {
			more, undecided := explained(done.operations, done.ordered)
			wrong = append(wrong, more...)
			sum.add(counts{"answers explained": 1 - len(more)})
			if undecided {
				sum.add(counts{"answers explained": -1, "answers undecided": 1})
			}
		}
		if len(wrong) > 0 {
			t.Errorf("history %d:", first+i)
			for _, text := range wrong[:min(len(wrong), 10)] {
				t.Error(text)
			}
			t.Log(story)
			return
		}
	}
	t.Log(p.text(uint64(n), sum))
}

// progress prints the result of the histories so far each minute, so that an interrupted campaign has one.
type progress struct {
	name         string
	first        uint64
	began, shown time.Time
}

func (p *progress) show(n uint64, sum counts) {
	if time.Since(p.shown) >= time.Minute {
		p.shown = time.Now()
		fmt.Fprintf(os.Stderr, "%s: %s\n", p.name, p.text(n, sum))
	}
}

func (p *progress) text(n uint64, sum counts) string {
	return fmt.Sprintf("%d histories from seed %d in %s: %v", n, p.first, time.Since(p.began).Round(time.Second), sum)
}

// counts counts what happened, by its name.
type counts map[string]int

func (c *counts) add(more counts) {
	if *c == nil {
		*c = counts{}
	}
	for what, n := range more {
		(*c)[what] += n
	}
}

// site is a fleet with its hosts. mu protects the fields below it.
type site struct {
	t         *testing.T
	began     time.Time
	store     *bustest.Store
	registry  *bustest.Store
	hubs      []*hub
	hosts     []*host
	declared  func(p *process) // declares the objects of the repository at a hub
	processes sync.WaitGroup
	faulty    atomic.Bool // requests are lost, and reads are outdated
	sealed    atomic.Bool // further operations are not recorded

	mu      sync.Mutex
	random  *rand.Rand
	targets map[fleet.TargetID]document.Target
	count   counts
	wrong   []string
	story   []string
	operations
	ordered porcupine.Model // of operations, if check is set
	check   bool
}

func newSite(t *testing.T, seed uint64) *site {
	s := &site{t: t, began: time.Now(), store: bustest.NewStore(), registry: bustest.NewStore(),
		random: rand.New(rand.NewPCG(seed, 1)), targets: map[fleet.TargetID]document.Target{}, count: counts{}}
	for i := range 3 {
		s.hubs = append(s.hubs, &hub{site: s, name: fmt.Sprint("hub", i+1)})
	}
	for i, id := range bustest.IDs(hostCount) {
		s.targets[id] = document.Target{ID: id, Name: fmt.Sprint("web", i), Standing: fleet.Active, Connected: true}
		s.hosts = append(s.hosts, newHost(s, i, id))
	}
	return s
}

// start starts all hubs and agents.
func (s *site) start() {
	for _, h := range s.hubs {
		h.start()
	}
	time.Sleep(time.Second)
	for _, x := range s.hosts {
		x.start()
	}
}

// close ends all processes.
func (s *site) close() {
	for _, x := range s.hosts {
		x.kill()
	}
	for _, h := range s.hubs {
		h.kill()
	}
	s.processes.Wait()
}

// dice returns a number below n.
func (s *site) dice(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// at returns the true time since the begin.
func (s *site) at() time.Duration { return time.Since(s.began) }

func (s *site) failf(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf("%s: ", s.at())+fmt.Sprintf(format, args...))
}

// note records what happened, for the report of a history that fails.
func (s *site) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.story = append(s.story, fmt.Sprintf("%s: ", s.at())+fmt.Sprintf(format, args...))
}

func (s *site) happened(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[what]++
}

// healed ends all faults. Killed hubs and agents are started again.
func (s *site) healed() {
	s.faulty.Store(false)
	for _, h := range s.hubs {
		h.cut.Store(false)
		h.skew.Store(0)
		h.start()
	}
	for _, x := range s.hosts {
		x.away.Store(false)
		x.start()
	}
}

// fault injects one random fault into hubs or agents, or ends one. jump is the largest jump of a clock.
func (s *site) fault(jump time.Duration) {
	h, x := s.hubs[s.dice(len(s.hubs))], s.hosts[s.dice(len(s.hosts))]
	what := []string{"hub killed", "hub killed", "hub started", "hub started", "hub isolated", "hub connected",
		"hub connected", "clock jumped", "clock jumped", "host isolated", "host isolated", "host connected", "agent killed",
		"agent killed", "power cut", "all connected"}[s.dice(16)]
	s.happened(what)
	s.note("%s: %s or web%d", what, h.name, x.i)
	switch what {
	case "hub killed":
		h.kill()
	case "hub started":
		h.start()
	case "hub isolated":
		h.cut.Store(true)
	case "hub connected":
		h.cut.Store(false)
	case "clock jumped":
		h.skew.Store(int64(jump)*int64(s.dice(2001))/1000 - int64(jump))
	case "host isolated":
		x.away.Store(true)
	case "host connected":
		x.away.Store(false)
	case "agent killed":
		x.kill()
		s.processes.Go(func() { wait(s.t.Context(), time.Duration(s.dice(40))*time.Second); x.start() })
	case "power cut":
		x.powerCut()
		s.processes.Go(func() { wait(s.t.Context(), time.Duration(s.dice(100))*time.Second); x.start() })
	case "all connected":
		for _, h := range s.hubs {
			h.cut.Store(false)
			h.start()
		}
	}
}

// errLost is the error of a request whose connection was lost.
var errLost = errors.New("the hub was killed")

// request sends a request of a host to any hub, as its agent does. Without an answer, the request can still have its
// effect, also later.
func (s *site) request(ctx context.Context, x *host,
	send func(ctx context.Context, p *process) ([]byte, error)) ([]byte, error) {
	p := s.hubs[s.dice(len(s.hubs))].serving()
	if p == nil || x.away.Load() {
		return nil, fleet.ErrNoHub
	}
	type result struct {
		body []byte
		err  error
	}
	answered := make(chan result, 1)
	delay, n := time.Duration(1+s.dice(200))*time.Millisecond, 100
	if s.faulty.Load() {
		n = s.dice(100)
	}
	if n == 1 {
		delay = time.Duration(s.dice(60)) * time.Second // the hub was stopped for some time
	}
	s.processes.Go(func() {
		if wait(p.ctx, delay); p.ctx.Err() != nil || n == 2 {
			return
		}
		body, err := send(p.ctx, p)
		if p.ctx.Err() == nil && n != 3 && !x.away.Load() {
			answered <- result{body, err}
		}
	})
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.ctx.Done():
		return nil, errLost
	case r := <-answered:
		return r.body, r.err
	}
}
