package largefleet

import (
	"fmt"
	"syscall"
	"time"

	"fettle.dev/fettle/internal/fleet/document"
)

// judge decides whether the hubs are right. It sees only the assignments that they wrote and the reports of agents.
type judge struct {
	fleet   *simFleet
	n       int
	targets map[*agent]*record
	active  bool
	// waves are the waves of the strategy; none means no limit.
	waves []wave
	// stops is set if no further target may get a change after the first failure.
	stops bool
	// hasty is set if a wave may begin before the targets were ready for the minimum time.
	hasty bool
	back  int // targets may return to this change, with the same limits as for a new one; 0 means none
	// backwards is the number of targets that got older content; without a failure of the newer one.
	backwards int

	changes map[int]*spreadOf
	faults  int
}

// wave is a wave of a strategy, as the judge expects it.
type wave struct {
	members int           // including the waves before
	atOnce  int           // targets that may be unavailable because of the change
	settle  time.Duration // for which the targets of the wave must have been ready
	least   int           // number of members of the wave and the waves before, if some of them joined later
}

// record is what the judge knows about a target.
type record struct {
	last    document.Order
	numbers map[document.Order]int
	version int          // the newest change in its newest assignment
	left    map[int]bool // changes that it had and lost
	lost    bool         // it had failed before its newest assignment, so it was not available in any case
	ready   time.Time    // since when the report about the newest assignment is ready; zero means not
}

// spreadOf is the distribution of one change.
type spreadOf struct {
	had         map[*agent]bool // ever
	unavailable map[*agent]bool // have it now and are not ready
	failed      time.Time       // the first report of a failure with it
	worst       int             // the largest number of unavailable
	wave        int
}

func newJudge(n int) *judge {
	return &judge{n: n, targets: map[*agent]*record{}, changes: map[int]*spreadOf{}}
}

// begin begins the judgement, after the first content was delivered at once.
func (j *judge) begin() {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	j.active = true
}

func (j *judge) fault(format string, a ...any) {
	if j.faults++; j.faults <= 10 {
		j.fleet.t.Errorf("%9s %s", time.Since(j.fleet.began).Round(time.Second), fmt.Sprintf(format, a...))
	}
}

func (j *judge) change(v int) *spreadOf {
	if j.changes[v] == nil {
		j.changes[v] = &spreadOf{had: map[*agent]bool{}, unavailable: map[*agent]bool{}}
	}
	return j.changes[v]
}

// newest returns the newest change in a content.
func (v version) newest() (n int) {
	for _, x := range v {
		n = max(n, x)
	}
	return n
}

// issued judges an assignment.
func (j *judge) issued(a *agent, number document.Order, v version) {
	r := j.targets[a]
	if r == nil {
		r = &record{numbers: map[document.Order]int{}, left: map[int]bool{}}
		j.targets[a] = r
	}
	n := v.newest()
	if was, again := r.numbers[number]; again {
		if was != n {
			j.fault("%s: %v has the contents %d and %d", a.Name, number, was, n)
		}
		return
	}
	r.numbers[number] = n
	if !newer(number, r.last) {
		j.fault("%s: %v follows %v", a.Name, number, r.last)
	}
	r.last, r.ready, r.lost = number, time.Time{}, a.state == document.Failed
	if n != r.version {
		j.moved(a, r, n)
	}
	if !r.lost {
		j.change(n).unavailable[a] = true
	}
	j.change(n).worst = max(j.change(n).worst, len(j.change(n).unavailable))
}

// moved judges that a target gets another content.
func (j *judge) moved(a *agent, r *record, n int) {
	delete(j.change(r.version).unavailable, a)
	if r.left[n] && n > r.version {
		j.fault("%s gets the change %d again", a.Name, n)
	}
	if r.version > n && n != j.back {
		r.left[r.version] = true
	}
	forward := n > r.version || n == j.back
	if n < r.version && j.change(r.version).failed.IsZero() {
		j.backwards++
	}
	r.version = n
	c := j.change(n)
	if forward && j.active && !c.had[a] {
		j.granted(a, c, n)
	}
	c.had[a] = true
}

// reactionTime is the longest time from a report until the hubs have reacted: they gather reports for two seconds.
const reactionTime = 4 * time.Second

// granted judges that a target gets a change for the first time.
func (j *judge) granted(a *agent, c *spreadOf, n int) {
	if j.stops && !c.failed.IsZero() && time.Since(c.failed) > reactionTime {
		j.fault("%s gets the change %d %s after its first failure", a.Name, n, time.Since(c.failed))
	}
	if len(j.waves) == 0 {
		return
	}
	for c.wave+1 < len(j.waves) && len(c.had) >= j.waves[c.wave].members {
		w := j.waves[c.wave]
		if ready := j.readyWith(n, w.settle); ready < w.least*95/100 && !j.hasty {
			j.fault("wave %d of the change %d begins with %d ready targets of %d", c.wave+1, n, ready, w.least)
		}
		c.wave++
	}
	if w := j.waves[c.wave]; a.state != document.Failed && len(c.unavailable)+1 > w.atOnce {
		j.fault("%s gets the change %d as the %d. unavailable target of %d", a.Name, n, len(c.unavailable)+1, w.atOnce)
	}
}

// readyWith counts the targets that have been ready with a change for a time.
func (j *judge) readyWith(n int, settle time.Duration) (ready int) {
	for a := range j.change(n).had {
		r := j.targets[a]
		if r.version == n && !r.ready.IsZero() && time.Since(r.ready) >= settle {
			ready++
		}
	}
	return ready
}

// reported judges a report of an agent.
func (j *judge) reported(a *agent) {
	r := j.targets[a]
	if r == nil || a.has != r.last {
		return
	}
	c := j.change(r.version)
	switch a.state {
	case document.Ready:
		delete(c.unavailable, a)
		if r.ready.IsZero() {
			r.ready = time.Now()
		}
	case document.Failed:
		if !r.lost {
			c.unavailable[a] = true
		}
		r.ready = time.Time{}
		if c.failed.IsZero() {
			c.failed = time.Now()
		}
	}
}

// haveAll reports whether all targets have a change and are ready.
func (j *judge) haveAll(n int) bool { return j.have(n) == j.n }

// have counts the targets that have a change now and are ready.
func (j *judge) have(n int) (count int) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, r := range j.targets {
		if r.version == n && !r.ready.IsZero() {
			count++
		}
	}
	return count
}

// assigned counts the targets whose newest assignment has a change.
func (j *judge) assigned(n int) (count int) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for _, r := range j.targets {
		if r.version == n {
			count++
		}
	}
	return count
}

// had counts the targets that ever had a change.
func (j *judge) had(n int) int {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	return len(j.change(n).had)
}

func (j *judge) String() (text string) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	for n := 1; n <= len(j.fleet.commits); n++ {
		c := j.changes[n]
		if c == nil || len(j.fleet.commits) > 10 && n < len(j.fleet.commits)-3 {
			continue
		}
		now, ready := 0, 0
		for _, r := range j.targets {
			if r.version == n {
				now++
				if !r.ready.IsZero() {
					ready++
				}
			}
		}
		text += fmt.Sprintf("change %d: %d had it, %d have it, %d are ready, at most %d were unavailable\n", n, len(c.had),
			now, ready, c.worst)
	}
	return text
}

// costs are the costs of a scenario.
type costs struct{ steps int }

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
