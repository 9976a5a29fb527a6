package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/fleet/client"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/route"
	"fettle.dev/fettle/test/coordination"
)

const (
	slotCount = 2
	slotLease = 15 * time.Second
	// freeWithin is the time after which the slot of a host that does not return is free: its lease, the grace of a
	// minute, the time between two looks of the leading hub, and a reserve for a busy machine. Hubs that start measure
	// the lease again.
	freeWithin = slotLease + time.Minute + 15*time.Second + 45*time.Second
)

// slotSettings declares the lock.
var slotSettings = fmt.Sprintf(`lock "db" {
  slots     = %d
  lease     = "%s"
  on_expiry = "free"
}
`, slotCount, slotLease)

// worker is a program that needs a slot. It stores the time and its token while it works. These times are after its
// begin and before its end, so hosts work at least between them.
const worker = `LC_ALL=C
now=${EPOCHREALTIME/./}
end=$((now + $2 * 1000))
while [ "$now" -lt "$end" ]; do
  echo "$1 $FETTLE_LOCK_DB_TOKEN $now" >>/var/log/slots
  sleep 0.05
  now=${EPOCHREALTIME/./}
done
`

// slotRun is a process of fettle run that needs a slot. mu of slotRuns protects cmd.
type slotRun struct {
	host  *agent
	id    int
	asked time.Time // before its start
	cmd   *exec.Cmd
}

// slotRuns are the runs of all hosts.
type slotRuns struct {
	*run
	stop chan struct{}
	all  sync.WaitGroup

	mu     sync.Mutex
	random *rand.Rand
	runs   []*slotRun
	now    map[*agent]*slotRun
	errors map[string]int
}

// beginSlots begins one run after another on each host.
func (c *run) beginSlots(seed uint64) *slotRuns {
	s := &slotRuns{run: c, stop: make(chan struct{}), random: rand.New(rand.NewPCG(seed, 2)), now: map[*agent]*slotRun{},
		errors: map[string]int{}}
	for _, a := range c.agents {
		if err := os.WriteFile(a.file("opt/chaos/worker"), []byte(worker), 0o644); err != nil {
			c.t.Fatal(err)
		}
		s.all.Go(func() {
			for {
				select {
				case <-s.stop:
					return
				case <-time.After(time.Duration(s.dice(3000)) * time.Millisecond):
					s.one(a, 500+s.dice(9000))
				}
			}
		})
	}
	return s
}

func (s *slotRuns) dice(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// one is a run that works for some time in ms, unless it ends early.
func (s *slotRuns) one(a *agent, works int) {
	var said strings.Builder
	s.mu.Lock()
	r := &slotRun{host: a, id: len(s.runs) + 1, asked: time.Now()}
	r.cmd = a.command("chroot", a.root(), "/opt/chaos/fettle", "run", "--lock", "db", "--", "/bin/bash",
		"/opt/chaos/worker", strconv.Itoa(r.id), strconv.Itoa(works))
	r.cmd.Stdout, r.cmd.Stderr = &said, &said
	s.runs, s.now[a] = append(s.runs, r), r
	err := r.cmd.Start()
	s.mu.Unlock()
	if err == nil {
		err = r.cmd.Wait()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now[a] = nil
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	text, _, _ := strings.Cut(fmt.Sprint(err, " ", lines[len(lines)-1]), ", held by")
	s.errors[text]++
}

// kill kills the run of a host, also while it waits for a slot.
func (s *slotRuns) kill(a *agent) bool { return s.signal(a, syscall.SIGKILL) }

func (s *slotRuns) signal(a *agent, sig syscall.Signal) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.now[a]
	return r != nil && r.cmd.Process != nil && r.cmd.Process.Signal(sig) == nil
}

// end ends the runs, and waits for them.
func (s *slotRuns) end() {
	close(s.stop)
	for _, a := range s.agents {
		s.signal(a, syscall.SIGTERM)
	}
	s.all.Wait()
}

// works returns a host that works now, or nil. Its run holds a slot.
func (s *slotRuns) works() *agent {
	for _, a := range s.agents {
		if time.Since(s.last(a)) < 200*time.Millisecond {
			return a
		}
	}
	return nil
}

// last returns the newest time at which a host worked.
func (s *slotRuns) last(a *agent) time.Time {
	text, _ := tail(a.file("var/log/slots"), 200)
	at := int64(0)
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) == 3 && strings.HasSuffix(line, "\n") {
			at, _ = strconv.ParseInt(words[2], 10, 64)
		}
	}
	return time.UnixMicro(at)
}

// tail returns the last bytes of a file.
func tail(name string, n int64) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	text := make([]byte, min(n, st.Size()))
	_, err = f.ReadAt(text, st.Size()-int64(len(text)))
	return string(text), err
}

// stamp is a line of a worker.
type stamp struct {
	run   int
	token uint64
	at    int64 // µs since 1970
}

// stamps returns what the workers of a host stored.
func (s *slotRuns) stamps(a *agent) (out []stamp) {
	text, _ := os.ReadFile(a.file("var/log/slots")) // it does not exist before the first
	for line := range strings.Lines(string(text)) {
		var t stamp
		if _, err := fmt.Sscan(line, &t.run, &t.token, &t.at); err != nil || !strings.HasSuffix(line, "\n") {
			continue // it is being written
		}
		out = append(out, t)
	}
	return out
}

// grant is the work of one run with its slot.
type grant struct {
	coordination.Interval
	run   *slotRun
	token uint64
}

// grants returns the work of all hosts.
func (s *slotRuns) grants() (out []grant) {
	s.mu.Lock()
	runs := slices.Clone(s.runs)
	s.mu.Unlock()
	for _, a := range s.agents {
		by := map[int]int{}
		for _, st := range s.stamps(a) {
			at := time.UnixMicro(st.at).Sub(s.began)
			i, known := by[st.run]
			if !known {
				by[st.run] = len(out)
				out = append(out, grant{coordination.Interval{Host: a.name, From: at, To: at}, runs[st.run-1], st.token})
				continue
			}
			out[i].To = at
			if out[i].token != st.token {
				s.t.Errorf("the run %d of %s has the tokens %d and %d", st.run, a.name, out[i].token, st.token)
			}
		}
	}
	return out
}

// judgeSlots fails the test if more hosts worked at the same time than the lock has slots, or if a later run
// got a lower token than an earlier one.
func (s *slotRuns) judgeSlots() {
	all := s.grants()
	var work []coordination.Interval
	for _, g := range all {
		work = append(work, g.Interval)
	}
	wrong := coordination.TooMany(work, slotCount)
	for _, a := range all {
		for _, b := range all {
			same := a.Host == b.Host
			switch {
			case a.token == b.token && !same:
				wrong = append(wrong, fmt.Sprintf("%s and %s have the token %d", a.Host, b.Host, a.token))
			case b.run.asked.Sub(s.began) > a.From && (b.token < a.token || b.token == a.token && !same):
				wrong = append(wrong, fmt.Sprintf("the token %d of %s at %s follows %d of %s at %s", b.token, b.Host, b.From,
					a.token, a.Host, a.From))
			}
		}
	}
	if len(wrong) > 0 {
		s.fail("%s", strings.Join(wrong[:min(len(wrong), 10)], "\n"))
	}
}

// holds reports whether a hub shows that a host has a slot. Without an answer of each hub, it returns an error.
func (s *slotRuns) holds(ctx context.Context, a *agent) (yes bool, err error) {
	for _, h := range s.hubs {
		p, err := client.Get(ctx, h.client, route.Locks())
		if err != nil {
			return false, err
		}
		i := slices.IndexFunc(p.Locks, func(l document.Lock) bool { return l.Name == "db" })
		if i < 0 {
			return false, fmt.Errorf("%s has no lock: %+v", h.named, p)
		}
		yes = yes || slices.ContainsFunc(p.Locks[i].Holders, func(h document.LockHolder) bool {
			return h.Name == a.name && h.State != document.SlotLost
		})
	}
	return yes, nil
}
