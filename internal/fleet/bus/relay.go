package bus

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// Subjects between hubs, below the prefix of the fleet.
const (
	toldSubject = "hubs.told" // which targets are connected to which hub
	toSubject   = "hubs.to."  // followed by the token of a hub: a message for an agent there, or of an agent there
)

const (
	tellEvery = 5 * time.Second
	toldFor   = 4 * tellEvery // after this time a silent hub counts as gone
)

// relay forwards the messages of a hub to agents that are connected to another hub, and their
// answers back. Subjects of agents never leave a hub's own server: hubs forward only messages whose
// sender the server has verified.
type relay struct {
	x    *Exchange
	name string // of this hub
	over *between
	load func() (fleet.HubLoad, bool) // of this hub
	done chan struct{}                // closed when the other hubs were informed that this hub ends

	mu    sync.Mutex
	where map[fleet.TargetID]string // the token of the target's hub
	hubs  map[string]far            // by token
}

// far is another hub.
type far struct {
	name string
	at   time.Time      // time of its last message
	load *fleet.HubLoad // the newest one; nil means unknown
}

// rollCall is the message of a hub about its connected targets: one change, or all targets.
type rollCall struct {
	Hub  string           `json:"hub"`  // its token
	Name string           `json:"name"` // and its name
	ID   fleet.TargetID   `json:"id,omitempty"`
	Here bool             `json:"here,omitempty"`
	All  []fleet.TargetID `json:"all,omitempty"`
	Load *fleet.HubLoad   `json:"load,omitempty"` // with all targets; hubs of older versions do not report it
	Gone bool             `json:"gone,omitempty"` // this hub ends
}

// relayOver connects an exchange to the agents of other hubs, until ctx ends. load returns the load of this hub.
func (x *Exchange) relayOver(ctx context.Context, name string, over *between, load func() (fleet.HubLoad, bool)) error {
	r := &relay{x: x, name: name, over: over, load: load, done: make(chan struct{}),
		where: map[fleet.TargetID]string{}, hubs: map[string]far{}}
	if err := over.receive(toldSubject, r.heardTold); err != nil {
		return err
	}
	if err := over.receive(toSubject+x.self, r.arrived); err != nil {
		return err
	}
	for _, kind := range []string{"r", "d"} {
		if err := x.carrier.Receive("f.*.up."+kind+".*.*", "", r.back); err != nil {
			return err
		}
	}
	x.relay = r
	x.Presence(func(id fleet.TargetID, here bool) { r.tell(rollCall{ID: id, Here: here}) })
	go r.run(ctx)
	return nil
}

// run reports the connected targets periodically, and forgets hubs that stopped reporting.
func (r *relay) run(ctx context.Context) {
	defer close(r.done)
	t := time.NewTicker(tellEvery)
	defer t.Stop()
	for {
		r.tellAll()
		select {
		case <-ctx.Done():
			r.tell(rollCall{Gone: true})
			return
		case <-t.C:
		}
		r.lose(r.expire(time.Now()))
	}
}

// expire forgets hubs that have not reported for toldFor. It returns their targets.
func (r *relay) expire(now time.Time) (gone []fleet.TargetID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for hub, f := range r.hubs {
		if now.Sub(f.at) > toldFor {
			gone = append(gone, r.drop(hub)...)
		}
	}
	return gone
}

// tellAll reports all connected targets, and the load.
func (r *relay) tellAll() {
	t := rollCall{All: r.x.Connected()}
	if r.load != nil {
		if l, known := r.load(); known {
			t.Load = &l
		}
	}
	r.tell(t)
}

// tell ignores errors: the next report repeats the content.
func (r *relay) tell(t rollCall) {
	t.Hub, t.Name = r.x.self, r.name
	if b, err := json.Marshal(t); err == nil {
		_ = r.over.send(toldSubject, b)
	}
}

func (r *relay) heardTold(_ string, body []byte) {
	var t rollCall
	if json.Unmarshal(body, &t) != nil {
		return
	}
	gone, known := r.note(t)
	r.lose(gone)
	if !known && !t.Gone {
		r.tellAll() // the other hub has just started, or was disconnected
	}
}

// note records the report of a hub. It returns the targets that are no longer connected, and
// whether the hub was known.
func (r *relay) note(t rollCall) (gone []fleet.TargetID, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known = r.hubs[t.Hub]
	if t.Gone {
		return r.drop(t.Hub), known
	}
	hub := far{t.Name, time.Now(), r.hubs[t.Hub].load}
	switch {
	case t.Here:
		r.where[t.ID] = t.Hub
	case t.ID == "":
		hub.load = t.Load
		gone = r.all(t)
	case r.where[t.ID] == t.Hub:
		delete(r.where, t.ID)
		gone = []fleet.TargetID{t.ID}
	}
	r.hubs[t.Hub] = hub
	return gone, known
}

// all must be called with the lock held. A target with another known hub keeps it: that hub's
// report is newer.
func (r *relay) all(t rollCall) (gone []fleet.TargetID) {
	here := map[fleet.TargetID]bool{}
	for _, id := range t.All {
		here[id] = true
		if r.where[id] == "" {
			r.where[id] = t.Hub
		}
	}
	return r.without(func(id fleet.TargetID, hub string) bool { return hub == t.Hub && !here[id] })
}

// drop must be called with the lock held.
func (r *relay) drop(hub string) []fleet.TargetID {
	delete(r.hubs, hub)
	return r.without(func(_ fleet.TargetID, at string) bool { return at == hub })
}

// without must be called with the lock held.
func (r *relay) without(which func(id fleet.TargetID, hub string) bool) (gone []fleet.TargetID) {
	for id, hub := range r.where {
		if which(id, hub) {
			delete(r.where, id)
			gone = append(gone, id)
		}
	}
	return gone
}

// lose ends the requests and streams of agents whose connection to another hub ended.
func (r *relay) lose(gone []fleet.TargetID) {
	for _, id := range gone {
		r.x.calls.lost(string(id))
		r.x.streams.failOf(string(id), ErrLost)
	}
}

// hubOf returns the token of the agent's hub, or "".
func (r *relay) hubOf(id fleet.TargetID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.where[id]
}

// pass sends a message to another hub.
func (r *relay) pass(hub string, m Message) error {
	nobody := ""
	if m.NoReceiver {
		nobody = "nobody"
	}
	return r.over.send(toSubject+hub, parts([]byte(m.Subject), []byte(m.Reply), []byte(nobody), m.Body))
}

// back forwards the answer of a local agent to the hub that sent the request.
func (r *relay) back(m Message) {
	p := strings.Split(m.Subject, ".") // f.ID.up.KIND.HUB.N
	hub := p[4]
	if hub == r.x.self {
		if m.NoReceiver { // the server sends this once, to one of the subscribers
			r.x.answered(m)
		}
		return
	}
	r.mu.Lock()
	_, known := r.hubs[hub]
	r.mu.Unlock()
	if known {
		_ = r.pass(hub, m) // if it is lost, the requester asks again, or detects it by pings
	}
}

// arrived handles a forwarded message: for a local agent, or of an agent of another hub.
func (r *relay) arrived(_ string, body []byte) {
	p, err := records(body)
	if err != nil || len(p) != 4 {
		return
	}
	m := Message{Subject: string(p[0]), Reply: string(p[1]), NoReceiver: len(p[2]) > 0, Body: p[3]}
	s := strings.Split(m.Subject, ".")
	switch {
	case len(s) < 5 || s[0] != "f":
	case s[2] == "down":
		_ = r.x.carrier.Send(m.Subject, m.Reply, m.Body) // errors are ignored as in back
	case s[2] == "up" && s[3] == "r":
		r.x.answered(m)
	case s[2] == "up" && s[3] == "d":
		r.x.frame(m)
	}
}

// peers returns the reachable hubs, including this one, sorted by name.
func (r *relay) peers() []Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Peer{{Name: r.name, Reachable: true, Current: true}}
	for _, f := range r.hubs {
		if !slices.ContainsFunc(out, func(p Peer) bool { return p.Name == f.name }) {
			out = append(out, Peer{Name: f.name, Reachable: true, Current: true})
		}
	}
	slices.SortFunc(out, byName)
	return out
}

// AgentsByHub returns the number of agents that are connected to each reachable hub, by the name of the hub.
// The numbers of other hubs are some seconds old. A hub that is alone returns one number.
func (x *Exchange) AgentsByHub(self string) map[string]int {
	out := map[string]int{}
	if x.relay != nil {
		out = x.relay.agentsByHub()
	}
	out[self] = len(x.Connected())
	return out
}

func (r *relay) agentsByHub() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int{}
	for _, f := range r.hubs {
		out[f.name] = 0
	}
	for _, token := range r.where {
		out[r.hubs[token].name]++
	}
	return out
}

// HubLoads returns the newest load of each other hub that reports it, by the name of the hub. A hub that did not report
// for 20 seconds is missing. A single hub has no other hubs.
func (x *Exchange) HubLoads() map[string]fleet.HubLoad {
	if x.relay == nil {
		return nil
	}
	return x.relay.loads()
}

// loads ignores the older reports of a hub that started again.
func (r *relay) loads() map[string]fleet.HubLoad {
	r.mu.Lock()
	defer r.mu.Unlock()
	out, at := map[string]fleet.HubLoad{}, map[string]time.Time{}
	for _, f := range r.hubs {
		if f.load != nil && f.at.After(at[f.name]) {
			out[f.name], at[f.name] = *f.load, f.at
		}
	}
	return out
}

// FollowPresence calls each for the targets that are connected to other hubs: when a target
// connects or disconnects, and repeatedly for connected targets, at least at the interval every. It
// returns when ctx ends. A single hub never calls each.
func (x *Exchange) FollowPresence(ctx context.Context, every time.Duration,
	each func(id fleet.TargetID, here bool)) error {
	if x.relay == nil {
		<-ctx.Done()
		return nil
	}
	return x.relay.followPresence(ctx, every, each)
}

func (r *relay) followPresence(ctx context.Context, every time.Duration,
	each func(id fleet.TargetID, here bool)) error {
	tick := time.NewTicker(min(every, tellEvery))
	defer tick.Stop()
	known := map[fleet.TargetID]string{}
	for {
		r.mu.Lock()
		now := maps.Clone(r.where)
		r.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(now)) {
			each(id, true)
		}
		for _, id := range slices.Sorted(maps.Keys(known)) {
			if now[id] == "" {
				each(id, false)
			}
		}
		known = now
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
