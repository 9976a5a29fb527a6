package machine

import (
	"hash/fnv"
	"math"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// Machine is an agent's mind. It is used by one goroutine.
type Machine struct {
	Kept
	cfg Config

	now     Now // of the step under way
	actions []Action
	changed bool // Kept has to be written

	up        bool
	seq       uint64 // of the newest report
	acked     uint64
	sending   bool
	asking    bool
	fetching  bool
	renewing  bool
	running   *Run
	runFor    order      // what was accepted when it began
	acting    *fleet.Job // what a request runs
	informing bool
	ending    bool // nothing is begun any more
	sharing   bool // exported values are on their way
	// known are the exported values that a hub acknowledged on this connection, and steady
	// is how long values have to stay before others of them are told.
	known  []exported.Own
	steady time.Duration
	shared time.Duration // when they were told last

	fetched     order  // whose bundles are all here
	bad         order  // of which no list can be made
	localFreeze string // who froze the machine, and why
	blind       string // why not everything can be watched
	refused     string // what was refused last
	told        fleet.Event
	touched     bool
	started     bool // the first run of this process is due
	wasReady    bool
	cert        Certificate

	due       [timers]time.Duration
	failures  [timers]int // in a row, of what each timer repeats
	replacing replacing
	dice      uint64
}

// order is (epoch, generation).
type order struct{ epoch, generation uint64 }

func orderOf(a *fleet.Assignment) order {
	if a == nil {
		return order{}
	}
	return order{a.Epoch, a.Generation}
}

// New begins with what an earlier process kept. newest and acked are the numbers of the
// newest report in the outbox and of the newest that was dropped from it; both 0 for an
// empty one.
func New(cfg Config, kept Kept, newest, acked uint64) *Machine {
	if kept.ofAnother(cfg.Target) {
		kept, acked = Kept{Seq: max(kept.Seq, newest)}, max(kept.Seq, newest)
	}
	m := &Machine{Kept: kept, cfg: cfg.withDefaults()}
	m.Format = Format
	if m.Modules == nil {
		m.Modules = map[string]Module{}
	}
	if newest == 0 {
		newest, acked = m.Seq, m.Seq
	}
	m.seq, m.acked = newest, acked
	for i := range m.due {
		m.due[i] = never
	}
	m.due[lockTimer], m.due[actTimer] = 0, 0
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(cfg.Target) + cfg.Boot))
	m.dice = h.Sum64()
	m.started = true
	return m
}

// ofAnother tells whether this was kept when the host was another target: the numbers of
// that one's assignments bind nobody any more, and no hub takes its reports.
func (k Kept) ofAnother(id fleet.TargetID) bool {
	return k.Accepted != nil && id != "" && k.Accepted.Target != "" && k.Accepted.Target != id
}

// Step takes an event in and says what to do, in order.
func (m *Machine) Step(e Event, now Now) []Action {
	m.now, m.actions, m.changed = now, nil, false
	m.Seq = m.seq // what earlier steps appended is durable, what this one does is not
	m.take(e)
	m.next()
	m.announce()
	m.send()
	m.inform()
	m.publish()
	m.beat()
	m.renew()
	var first []Action
	if m.changed {
		first = append(first, Persist{&m.Kept})
	}
	return append(append(first, m.actions...), Wake{m.wake()})
}

func (m *Machine) do(a Action) { m.actions = append(m.actions, a) }

func (m *Machine) take(e Event) {
	switch e := e.(type) {
	case Started:
		m.begin()
	case Link:
		m.link(e.Up)
	case Offered:
		m.offered(e)
	case Forged:
		m.refuse(e.Why)
	case Answered:
		m.answered(e.Error)
	case Fetched:
		m.fetchEnded(e)
	case Drifted:
		m.drifted(e)
	case Ran:
		m.ran(e.Outcome)
	case Touched:
		m.touched, m.due[thawTimer] = true, m.thawSoon()
	case Watched:
		m.watched(e.Why)
	case Acked:
		m.ackedReport(e)
	case Numbered:
		m.numberedAt(e.Seq)
	case JobReceived:
		m.receiveJob(e.Job)
	case JobEnded:
		m.acted(e)
	case JobAnswerSent:
		m.informed(e)
	case LocalFreeze:
		m.frozenBy(e.Why, never)
	case Certificate:
		m.cert, m.due[renewTimer], m.failures[renewTimer] = e, 0, 0
	case Newer:
		m.refuse(e.Why)
		m.replacing.asked = e.Binary
	case Prepared:
		m.prepared(e)
	case Published:
		m.published(e)
	case Renewed:
		m.renewed(e.Error)
	}
}

func (m *Machine) begin() {
	if m.Try.Open {
		m.Try.Open = false
		m.changed = true
	}
	m.interrupt()
	m.unapply("the agent began anew")
	m.set(sweepTimer, m.cfg.Sweep)
	m.set(fullTimer, m.cfg.Full)
	if m.Carried != nil {
		m.due[carryTimer] = m.now.Mono + carryFor
	}
	m.due[fetchTimer], m.due[retryTimer] = m.now.Mono, m.now.Mono
	if m.Try.N > 1 { // it did not end well more than once: perhaps it ends the machine
		m.backOff(retryTimer, m.Try.N, firstRetry, m.cfg.Sweep)
	}
	m.report(fleet.Event{Kind: fleet.Started, Text: m.cfg.Version})
	m.beginBinary()
}

func (m *Machine) link(up bool) {
	m.up = up
	if !up {
		m.due[pollTimer], m.due[beatTimer], m.due[sendTimer] = never, never, never
		return
	}
	m.due[pollTimer], m.due[beatTimer], m.due[sendTimer], m.due[informTimer] = m.now.Mono, m.now.Mono, m.now.Mono, m.now.Mono
	m.due[fetchTimer] = min(m.due[fetchTimer], m.now.Mono)
	m.known, m.due[exportTimer] = nil, m.now.Mono
	clear(m.failures[:])
}

func (m *Machine) watched(why string) {
	if why == m.blind {
		return
	}
	m.blind = why
	if why != "" {
		m.due[sweepTimer] = min(m.due[sweepTimer], m.now.Mono+m.cfg.Blind)
		m.report(fleet.Event{Kind: fleet.Failed, Text: "not all can be watched, so that it is looked at every " + m.cfg.Blind.String(), Error: why})
	}
}

const never = time.Duration(math.MaxInt64)
