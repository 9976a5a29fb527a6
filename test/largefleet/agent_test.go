package largefleet

import (
	"fmt"
	"hash/fnv"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/document"
	"fettle.dev/fettle/internal/fleet/hub/records"
)

// agent is the state of one target and its agent. simFleet.mu protects it.
type agent struct {
	fleet.Target
	i       int
	online  bool
	contact time.Time
	state   document.State
	newest  document.Order     // of the assignments that the hubs wrote
	signed  records.Assignment // the newest one
	shows   records.Assignment // the accepted one
	next    version            // the content of newest
	has     document.Order     // the accepted assignment
	content version            // of has
	runs    int                // a later run, or loss of the network, ends what an earlier one would do
}

// outcome is the result of a run.
type outcome struct {
	fails   bool
	silent  bool          // the target loses its network
	failsIn time.Duration // it fails so long after it was ready; 0 means never
}

// behaviour decides what a target does with a content. It is called with simFleet.mu held.
type behaviour func(f *simFleet, a *agent) outcome

func good(*simFleet, *agent) outcome { return outcome{} }

// spread returns a number that depends on a target and a purpose.
func spread(i int, purpose string) int {
	h := fnv.New32a()
	fmt.Fprint(h, i, purpose)
	return int(h.Sum32() >> 8)
}

// share reports whether a target is one of so many percent.
func share(a *agent, percent int, purpose string) bool { return spread(a.i, purpose)%100 < percent }

// Times of agents: until an assignment arrives, and of a run.
const arrival = time.Second

func runTime(a *agent) time.Duration {
	return time.Duration(5+spread(a.i+a.runs, "run")%15) * time.Second
}

// issued passes an assignment that a hub wrote to its agent.
func (f *simFleet) issued(g records.Assignment) {
	w := g.Assignment
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.agents[w.Target]
	number := document.Order{Epoch: w.Epoch, Generation: w.Generation}
	v := version{}
	for _, m := range w.Modules {
		v[m.Module] = f.versions[m.Module][m.Bundle.Digest]
	}
	f.judge.issued(a, number, v)
	if !newer(number, a.newest) {
		return
	}
	a.newest, a.next, a.signed = number, v, g
	if a.online {
		f.after(a, arrival, f.accept)
	}
}

func newer(a, b document.Order) bool {
	return a.Epoch > b.Epoch || a.Epoch == b.Epoch && a.Generation > b.Generation
}

// after calls do later, unless the agent begins something else meanwhile.
func (f *simFleet) after(a *agent, d time.Duration, do func(*agent)) {
	a.runs++
	run := a.runs
	time.AfterFunc(d, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if a.runs == run {
			do(a)
		}
	})
}

// accept begins to apply the newest assignment.
func (f *simFleet) accept(a *agent) {
	if !newer(a.newest, a.has) {
		return
	}
	a.has, a.content, a.shows = a.newest, a.next, a.signed
	f.report(a, document.Applying)
	f.after(a, runTime(a), f.applied)
}

func (f *simFleet) applied(a *agent) {
	switch o := f.behaves(f, a); {
	case o.silent:
		f.lose(a)
	case o.fails:
		f.report(a, document.Failed)
	default:
		f.report(a, document.Ready)
		if o.failsIn > 0 {
			f.after(a, o.failsIn, func(a *agent) { f.report(a, document.Failed) })
		}
	}
}

// report sends the state of a target to the hubs.
func (f *simFleet) report(a *agent, state document.State) {
	a.state, a.contact = state, time.Now()
	f.judge.reported(a)
	f.wake()
}

func (f *simFleet) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// lose disconnects a target.
func (f *simFleet) lose(a *agent) {
	a.online, a.contact = false, time.Now()
	a.runs++
	f.wake()
}

// connect connects targets again. They continue what they began, and get their newest assignments.
func (f *simFleet) connect(all func(*agent) bool) {
	f.mu.Lock()
	for _, a := range f.order {
		if all(a) && !a.online {
			a.online = true
			f.report(a, a.state)
			if newer(a.newest, a.has) {
				f.after(a, arrival, f.accept)
			} else if a.state == document.Applying {
				f.after(a, runTime(a), f.applied)
			}
		}
	}
	f.mu.Unlock()
}

// disconnect cuts targets from the network.
func (f *simFleet) disconnect(all func(*agent) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.order {
		if all(a) {
			f.lose(a)
		}
	}
}

// stepCost is the time of one computation at 10,000 targets. The time until the next one depends on it.
const stepCost = 120 * time.Millisecond

// observe returns the state of all targets, as the read model of a hub does.
func (f *simFleet) observe() map[fleet.TargetID]document.Target {
	time.Sleep(stepCost)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cost.steps++
	out := make(map[fleet.TargetID]document.Target, len(f.order))
	for _, a := range f.order {
		out[a.ID] = document.Target{ID: a.ID, Name: a.Name, State: a.state, Connected: a.online,
			Contact: a.contact.UnixNano(), Accepted: a.has}
	}
	return out
}

func (f *simFleet) observed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changed
}

func (f *simFleet) isAnyConnected(ids []fleet.TargetID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		if f.agents[id].online {
			return true
		}
	}
	return false
}
