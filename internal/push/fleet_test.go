package push_test

import (
	"fmt"
	"slices"
	"sync"

	"fettle.dev/fettle/internal/fleet/rollout"
	"fettle.dev/fettle/internal/push"
)

// site is a pretended fleet with a virtual clock, and the log of its workstation.
type site struct {
	sync.Mutex // for drivers
	order      push.Order
	hosts      map[string]*hostState
	log        []push.Record
	machine    *push.Machine
	now        int64
	running    map[string]push.Task
	done       []push.Task // all tasks that ended
	// verdict returns the verdicts of gates, and asked counts the questions about each.
	verdict func(rollout.Due) (rollout.Verdict, string)
	asked   map[string]int
	fresh   map[string]bool // targets that were checked since the last boot
	lost    map[string]bool // targets that the last task did not reach
	early   []string        // targets that got the change before the targets for which they wait
	unsure  []string        // of waves that ended although a ready target with contact was not checked
}

// hostState is one host. Its content is "new" or that of the run with the number.
type hostState struct {
	run      int
	content  map[int]string // by run
	away     bool
	refuses  bool // to be planned
	breaks   bool // the new content fails
	sickness int64
	applied  int64 // the time of the new content
	foreign  bool  // another run comes after the change
	missed   bool  // its return
	zone     string
	earlier  bool // it has the new content since an earlier rollout
}

func newSite(n int, s rollout.Strategy) *site {
	x := &site{order: push.Order{Strategy: s, Content: "new", Cause: "commit abc", Parallel: 4,
		Operator: "ann"},
		hosts: map[string]*hostState{}, running: map[string]push.Task{}, now: 1000, asked: map[string]int{}}
	for i := range n {
		name := fmt.Sprintf("web%02d", i+1)
		x.order.Targets = append(x.order.Targets, name)
		x.hosts[name] = &hostState{run: 3, content: map[int]string{3: "old"}}
	}
	x.boot()
	return x
}

// boot starts the command of the workstation again. Tasks that ran are lost.
func (x *site) boot() {
	for name, t := range x.running {
		x.hosts[name].missed = x.hosts[name].missed || t.Operation == push.Return
	}
	x.running, x.fresh, x.lost = map[string]push.Task{}, map[string]bool{}, map[string]bool{}
	x.machine = push.New(x.order)
	if push.Continues(x.order, x.log) {
		x.machine.Fold(x.log)
		return
	}
	for _, h := range x.hosts {
		h.earlier = h.has() == "new"
	}
	x.log = []push.Record{{Begin: &push.Begin{Strategy: x.order.Strategy.Name, Content: x.order.Content,
		Cause: x.order.Cause, Targets: x.order.Targets}}}
}

// step starts tasks, and ends some that run: all if end is nil. It returns false at the end of the rollout.
func (x *site) step(end func(string) bool) bool {
	tasks, records := x.machine.Next(x.now)
	x.log = append(x.log, records...)
	x.inspect(records)
	for _, d := range x.machine.Questions(x.now) {
		x.asked[d.Gate.Name]++
		v, why := x.verdict(d)
		x.machine.Answered(d, v, why, x.now)
	}
	for _, t := range tasks {
		x.running[t.Target] = t
	}
	for _, name := range slices.Sorted(keys(x.running)) {
		if end == nil || end(name) {
			t := x.running[name]
			delete(x.running, name)
			r := x.hosts[name].do(t, x.now)
			x.machine.Ended(t, r, x.now)
			x.done, x.lost[name] = append(x.done, t), !r.Reached
			x.fresh[name] = x.fresh[name] || r.Reached && (t.Operation == push.Check || t.Operation == push.Apply)
		}
	}
	if x.machine.Finished() {
		return false
	}
	x.now++
	return true
}

// inspect notes the ends of waves that come too early.
func (x *site) inspect(records []push.Record) {
	for _, r := range records {
		if r.Event != nil && r.Event.Kind == rollout.Granted {
			x.dependences(string(r.Event.Target))
		}
		if r.Event != nil && r.Event.Kind == rollout.Ended {
			x.unreached()
		}
		if r.Event == nil || r.Event.Kind != rollout.Advanced {
			continue
		}
		for id, m := range x.machine.Rollout().Members {
			away := x.hosts[string(id)].away || x.lost[string(id)]
			if m.State == rollout.MemberReady && !x.fresh[string(id)] && !away {
				x.unsure = append(x.unsure, string(id))
			}
		}
	}
}

// unreached notes the targets that have no contact at the end: they cannot return.
func (x *site) unreached() {
	for name, h := range x.hosts {
		h.missed = h.missed || x.lost[name]
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// play plays until the end, for at most two days.
func (x *site) play() {
	for end := x.now + 2*86400; x.step(nil); {
		if x.now > end {
			x.machine.Stop() // the rollout does not end, and its phase is wrong
		}
	}
}

func (h *hostState) has() string { return h.content[h.run] }

func (h *hostState) next(content string) {
	h.run++
	h.content[h.run] = content
}

// do performs a task.
func (h *hostState) do(t push.Task, now int64) push.Result {
	if h.away {
		h.missed = h.missed || t.Operation == push.Return
		return push.Result{Why: "no route to host"}
	}
	r := push.Result{Reached: true, OK: true, Run: h.run, Zone: h.zone}
	switch t.Operation {
	case push.Plan:
		r.Changes = h.has() != "new"
		if h.refuses {
			return push.Result{Reached: true, Why: "the facts cannot be read"}
		}
	case push.Apply:
		if h.has() != "new" {
			h.next("new")
			h.applied = now
		}
		r.OK = !h.fails(now)
		if h.foreign {
			h.next("foreign")
		}
	case push.Check:
		r.OK = !h.fails(now)
	case push.Return:
		if h.has() == "foreign" {
			return push.Result{Reached: true, Why: "another run came later"}
		}
		h.next(h.content[t.Base])
		h.missed = false
	}
	if !r.OK {
		r.Why = "a check failed"
	}
	return r
}

func (h *hostState) fails(now int64) bool {
	return h.breaks && h.has() == "new" && now >= h.applied+h.sickness
}
