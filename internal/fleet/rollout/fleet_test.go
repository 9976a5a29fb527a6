package rollout_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	fleets "fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/rollout"
)

// host is a pretended target.
type host struct {
	lane    string
	parts   map[string]string // of the newest assignment
	fresh   bool              // it has none
	online  bool
	contact int64
	hold    string
	closed  bool // hold is a window
	// begun is the time at which it began to apply the newest assignment; ends, when it knows the result.
	begun, ends int64
	health      rollout.Health
	since       int64
	broken      bool   // it fails for another reason than its parts
	only        string // the only part that it wants; "" means all
	labels      map[string]string
	id          rollout.ID
	wish        string // the strategy that its labels select; "" means that the root content selects it
	from        string // the branch of its root content
	freely      bool   // it got its root content without a rollout
	behind      behind
	inLane      string            // the lane in force at the last decision
	role        string            // its label
	given       string            // the role in its newest assignment
	badWith     string            // it fails with this part
	shown       map[string]string // its parts when the log was lost
	lacking     map[string]lack
	// organization is the path of its organization.
	organization fleets.Organization
}

// fleet pretends targets, a repository and a hub. It judges each decision by what happens to its hosts.
type fleet struct {
	tell     func(format string, args ...any)
	now      int64
	hosts    map[rollout.ID]*host
	head     map[string]string // of the lane main
	next     map[string]string // of the lane next
	bad      map[string]bool   // contents that fail
	strategy rollout.Strategy
	takes    int64 // seconds until a host knows the result
	up       int64
	jumped   int64
	resync   bool
	after    bool // the part web waits until all hosts of its lane have the newest part db
	fit      map[string]fit
	author   [2]string // of new changes: as git shows it, and the user of the hub
	groups   groups
	selects  *selection // nil: the lane of a host is its branch
	limits   []fleets.Limits
	openFor  func(rollout.ID, int64, int64, int64) int64

	s   *rollout.State
	log []rollout.Event
	// base is the newest snapshot, which replaces the first cut events of log.
	base rollout.Snapshot
	cut  int
}

func newFleet(t testing.TB, n int, s rollout.Strategy) *fleet {
	f := &fleet{tell: t.Errorf, now: 1000, hosts: map[rollout.ID]*host{},
		head: map[string]string{"web": "w1", "top": "t1"}, next: map[string]string{"web": "w1", "top": "next1"},
		bad: map[string]bool{}, strategy: s, takes: 5, s: rollout.NewState()}
	for i := range n {
		f.add(fmt.Sprintf("h%02d", i))
	}
	return f
}

func (f *fleet) add(name string) {
	f.hosts[rollout.ID(name)] = &host{id: rollout.ID(name), lane: "main", parts: map[string]string{}, fresh: true,
		online: true, contact: f.now, labels: rackOf(name)}
}

// wants returns the differences of a host from the head.
func (f *fleet) wants(h *host) (out []rollout.Change) {
	head := f.desired(h)
	for part, digest := range head {
		if h.parts[part] != digest && (h.only == "" || h.only == part) {
			out = append(out, rollout.Change{Part: part, Digest: digest})
		}
	}
	for part := range h.parts {
		if _, ok := head[part]; !ok {
			out = append(out, rollout.Change{Part: part})
		}
	}
	slices.SortFunc(out, func(a, b rollout.Change) int { return cmp.Compare(a.Part, b.Part) })
	return out
}

func (f *fleet) world() rollout.World {
	w := rollout.World{Targets: map[rollout.ID]rollout.Target{}, Resync: f.resync, Up: f.up, Jump: f.jumped,
		OpenFor: f.openFor, Limits: f.limits,
		Has:      func(id rollout.ID, part string) string { return f.hosts[id].parts[part] },
		Strategy: f.strategies, Declares: f.declares,
		Cause:  func(string, []rollout.Change) string { return "a test" },
		Author: func(string) (string, string) { return f.author[0], f.author[1] }}
	for id, h := range f.hosts {
		w.Targets[id] = f.target(h)
	}
	if f.now%2 == 0 { // both have the same result
		w.Parts = f.parts
	}
	return w
}

func (f *fleet) parts(id rollout.ID) (out []rollout.Change) {
	for part, digest := range f.hosts[id].parts {
		out = append(out, rollout.Change{Part: part, Digest: digest})
	}
	return out
}

func (f *fleet) target(h *host) rollout.Target {
	lane, chosen, wants := h.lane, f.chosen(h), f.wants(h)
	if f.selects != nil {
		if lane = f.s.Lane(h.id, chosen); lane == "" {
			wants = nil
		}
	}
	missing := missing(h, wants)
	return rollout.Target{Organization: h.organization, Lane: lane, Chosen: chosen, Wants: wants, Missing: missing,
		Ordered: f.asks(h, missing),
		Foreign: h.foreign(), Health: h.health, Since: h.since, Online: h.online, Contact: h.contact,
		Hold: h.hold, Closed: h.closed, New: h.fresh,
		Waits: f.waits(h), WaitsFor: map[string][]string{"web": {"db"}}, Requires: f.requires(h, wants),
		Labels: h.labels}
}

// step decides, publishes the permitted changes, and simulates the hosts for some seconds.
func (f *fleet) step(seconds int64) {
	w := f.world()
	f.misses(w)
	log := f.s.Decide(w, f.now)
	f.judge(log)
	f.deadlines(log)
	f.sides()
	f.log = append(f.log, log...)
	w.Explain(f.s)
	f.held(w)
	f.freed(w)
	f.absent(w)
	if again := f.s.Decide(w, f.now); len(again) > 0 {
		f.tell("decided again: %+v", again)
	}
	f.explained(w)
	f.publish()
	for range seconds {
		f.now++
		f.work()
	}
}

// publish gives each host its permitted changes.
func (f *fleet) publish() {
	for id, h := range f.hosts {
		changed, was := false, maps.Clone(h.parts)
		for _, c := range f.permitted(id, h) {
			if c.Part == "top" && h.parts["top"] != c.Digest {
				f.rooted(h, f.target(h).Lane)
			}
			f.added(h, c)
			changed = changed || h.parts[c.Part] != c.Digest
			if h.parts[c.Part] = c.Digest; c.Digest == "" {
				delete(h.parts, c.Part)
			}
		}
		f.combined(h, was, len(f.s.Returns(id)) > 0)
		if changed {
			f.joins(h)
			h.fresh, h.health, h.since, h.begun, h.ends = false, rollout.Unknown, f.now, 0, 0
		}
		f.labelled(h)
	}
}

// permitted returns what a host may have now, or must have again.
func (f *fleet) permitted(id rollout.ID, h *host) (out []rollout.Change) {
	back := f.s.Returns(id)
	for _, c := range f.wants(h) {
		if slices.ContainsFunc(back, func(b rollout.Change) bool { return b.Part == c.Part }) {
			continue
		}
		target := f.target(h)
		allowed, why := f.s.Permits(id, target, c)
		if target.Lane == "" {
			allowed, why = true, "at once"
		}
		if allowed && h.hold == "" {
			if strings.Contains(why, "stable") {
				if slices.Contains(h.foreign(), c.Part) {
					f.tell("%s loses the content of %s that it showed after a restore, without a rollout", id, c.Part)
				}
				f.gets(h, target.Lane)
				f.ordered(id, c, why)
			}
			out = append(out, c)
		}
		if why == "" {
			f.tell("%s: no reason for %v", id, c)
		}
	}
	return append(out, back...)
}

// work lets all hosts work for a second.
func (f *fleet) work() {
	for _, h := range f.hosts {
		if !h.online || h.fresh {
			continue
		}
		h.contact = f.now
		switch {
		case h.begun == 0:
			h.begun, h.ends = f.now, f.now+f.takes
			h.health, h.since = rollout.Applying, f.now
		case f.now >= h.ends:
			is := rollout.Healthy
			if f.fails(h) {
				is = rollout.Broken
			}
			if h.health != is {
				h.health, h.since, h.behind = is, f.now, behind{}
			}
		}
	}
}

func (f *fleet) fails(h *host) bool {
	if h.badWith != "" && h.parts[h.badWith] != "" {
		return true
	}
	return h.broken || slices.ContainsFunc(slices.Collect(maps.Values(h.parts)), func(d string) bool { return f.bad[d] })
}

// have returns the number of hosts with a content.
func (f *fleet) have(digest string) (n int) {
	for _, h := range f.hosts {
		if slices.Contains(slices.Collect(maps.Values(h.parts)), digest) {
			n++
		}
	}
	return n
}

// restart builds the state again from the log, as another hub does.
func (f *fleet) restart() {
	s := f.base.State()
	for _, e := range f.log[f.cut:] {
		s.Fold(e)
	}
	if !reflect.DeepEqual(s, f.s) {
		f.tell("the state after %d events depends on more than the log", len(f.log))
	}
	f.s, f.up = f.snapshot(s), f.now
}

// snapshot returns the state of a snapshot that was stored, if no rollout is open.
func (f *fleet) snapshot(s *rollout.State) *rollout.State {
	o, ok := s.Snapshot(1 << 20)
	if !ok {
		return s
	}
	text, err := json.Marshal(o)
	if err != nil {
		f.tell("cannot write a snapshot: %v", err)
	}
	var read rollout.Snapshot
	if err := json.Unmarshal(text, &read); err != nil {
		f.tell("cannot read a snapshot: %v", err)
	}
	from := read.State()
	if again, _ := from.Snapshot(1 << 20); !reflect.DeepEqual(again, read) {
		f.tell("the snapshot of a snapshot is different: %+v", again)
	}
	f.base, f.cut = read, len(f.log)
	return from
}

// until steps until something holds, for at most a day.
func (f *fleet) until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := f.now + 86400; !holds(); f.step(1) {
		if f.now > end {
			t.Fatalf("%s: never\n%s", what, f.text())
		}
	}
}

// text returns the log for people.
func (f *fleet) text() (out string) {
	for _, e := range f.log {
		if e.Rollout == "" {
			out += fmt.Sprintf("%d %s %s %s %v %s\n", e.At, e.Kind, e.Lane, e.Part, e.Targets, e.Why)
			continue
		}
		if p := e.Created; p != nil {
			out += fmt.Sprintf("%d %s created in %s: %v\n", e.At, e.Rollout, p.Lane, p.Changes)
			for _, w := range p.Waves {
				out += fmt.Sprintf("  %s %v\n", w.Name, w.Members)
			}
			continue
		}
		out += fmt.Sprintf("%d %s %s %s wave %d %s %s %s\n", e.At, e.Rollout, e.Kind, e.Target, e.Wave, e.Phase, e.Reaction,
			e.Why)
	}
	return out
}

func sortedHosts(f *fleet) []rollout.ID { return slices.Sorted(maps.Keys(f.hosts)) }
