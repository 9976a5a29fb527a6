package largefleet

import (
	"context"
	"slices"
	"time"

	"fettle.dev/fettle/internal/fleet/assign"
	"fettle.dev/fettle/internal/fleet/bus/bustest"
)

// restored are scenarios in which an operator restores an old copy of the storage during a rollout. Targets keep newer
// content until a rollout replaces it.
var restored = []scenario{
	{"the storage is restored from a backup", func(f *simFleet) {
		old, n := f.halfway()
		f.restore(old, commitName(n))
		f.returnAll()
		f.reaches(n, 20*time.Minute)
		if back := f.judge.backwards; back > 0 {
			f.t.Errorf("%d targets got older content", back)
		}
	}},
	{"the storage and the repository are restored from a backup", func(f *simFleet) {
		old, n := f.halfway()
		f.judge.carefully(n-1, f.judge.had(n))
		f.restore(old, commitName(n-1))
		f.returnAll()
		f.reaches(n-1, 20*time.Minute)
		f.judge.carefully(0, f.judge.n)
		f.reaches(f.commit("modules/base"), 15*time.Minute)
	}},
	{"the storage and the repository are restored, and the old content fails", func(f *simFleet) {
		old, n := f.halfway()
		f.judge.carefully(n-1, f.judge.had(n))
		f.restore(old, commitName(n-1))
		f.returnAll()
		f.behaves = func(_ *simFleet, a *agent) outcome { return outcome{fails: a.content["modules/base"] < n} }
		f.until(10*time.Minute, "the rollout has returned its target", func() bool { return f.newest().Held })
		time.Sleep(10 * time.Minute)
		if back := f.judge.backwards; back != 1 {
			f.t.Errorf("%d targets got older content", back)
		}
	}},
	// The hub assigns something before it knows what the agents have: no number is used twice.
	{"the fleet is frozen after a restore, before targets connect", func(f *simFleet) {
		old, n := f.halfway()
		f.restore(old, commitName(n))
		f.freeze()
		f.until(time.Minute, "all are frozen", func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return !slices.ContainsFunc(f.order, func(a *agent) bool { return a.signed.Assignment.Frozen == "" })
		})
		f.returnAll()
		time.Sleep(5 * time.Minute)
	}},
}

// halfway returns a copy of the storage that does not know the newest change, which half of the targets have.
func (f *simFleet) halfway() (old map[string]*bustest.Store, n int) {
	careful(f)
	f.reaches(f.commit("modules/web"), 10*time.Minute)
	old = f.backup()
	n = f.commit("modules/base")
	f.until(10*time.Minute, "a half has the change", func() bool { return f.judge.had(n) > f.judge.n/2 })
	f.endAll()
	return old, n
}

// backup copies the storage.
func (f *simFleet) backup() map[string]*bustest.Store {
	out := map[string]*bustest.Store{}
	for name, s := range f.stores {
		out[name] = s.Copy()
	}
	return out
}

// restore replaces the storage, and starts a hub. The agents have no contact.
func (f *simFleet) restore(stores map[string]*bustest.Store, head string) {
	f.disconnect(everyone)
	f.unwatch()
	f.discard()
	f.use(stores, bustest.NewLog())
	f.setHead(head)
	f.startAll(1)
}

// returnAll connects the agents within 20 seconds. They show their assignments.
func (f *simFleet) returnAll() {
	for second := range 20 {
		one := func(a *agent) bool { return spread(a.i, "connects")%20 == second }
		f.connect(one)
		time.Sleep(time.Second)
		for _, a := range f.order {
			if one(a) {
				f.show(a)
			}
		}
	}
}

// freeze freezes the fleet.
func (f *simFleet) freeze() {
	all := assign.Freeze{Key: assign.AllKey, Reason: "a restore"}
	if err := f.watch.Freezes.Put(context.Background(), all.Key, all, 0); err != nil {
		f.t.Fatal(err)
	}
}

// discard forgets the assignments that agents had not accepted: the hubs that wrote them are gone.
func (f *simFleet) discard() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.order {
		if r := f.judge.targets[a]; newer(a.newest, a.has) {
			delete(f.judge.change(r.version).unavailable, a)
			a.newest, a.next, a.signed = a.has, a.content, a.shows
			r.last, r.version = a.has, a.content.newest()
		}
	}
}

// carefully begins to judge that targets return to an older change as the strategy careful prescribes. 0 ends it. The
// rollout has so many members. It begins while some of them have no contact, so its early waves can be smaller.
func (j *judge) carefully(back, members int) {
	j.fleet.mu.Lock()
	defer j.fleet.mu.Unlock()
	early := members / 10
	j.waves = []wave{{1, 1, minReadyTime, 1}, {1 + early, quarter(early), minReadyTime, 1 + early},
		{members, quarter(members - 1 - early), minReadyTime, members}}
	if j.back = back; back > 0 {
		j.waves[1].least = 1 + early*4/5
		delete(j.changes, back)
	}
}
