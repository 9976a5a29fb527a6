package machine

import (
	"hash/fnv"
	"math"
	"time"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// Machine is the state machine of an agent. It must be used by one goroutine.
type Machine struct {
	StoredState
	cfg Config

	now     Now // time of the current step
	actions []Action
	changed bool // Kept must be written

	up        bool
	seq       uint64 // number of the newest report
	acked     uint64
	sending   bool
	asking    bool
	fetching  bool
	renewing  bool
	running   *Run
	runFor    order      // the accepted assignment when the run began
	acting    *fleet.Job // the job whose command runs
	informing bool
	ending    bool // the process ends; no new work begins
	sharing   bool // exported values are in transit
	// known are the exported values that a hub acknowledged on this connection. steady is the time
	// for which changed values must be stable before they are sent.
	known  []exported.Own
	steady time.Duration
	shared time.Duration // when exported values were last sent

	fetched     order  // assignment whose bundles are all stored
	bad         order  // assignment that cannot be compiled
	localFreeze string // user who froze the host, and the reason; "" if not frozen
	blind       string // why the watch is incomplete, "" if it is complete
	refused     string // last reported refusal
	told        fleet.Event
	touched     bool
	started     bool // the first run of this process is due
	wasReady    bool
	cert        Certificate

	due       [timers]time.Duration
	failures  [timers]int // number of consecutive failures of the operation of each timer
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

// New makes a state machine from the stored state. newest is the number of the newest report in the
// outbox, acked the number of the newest report that was dropped from it. Both are 0 for an empty
// outbox.
func New(cfg Config, kept StoredState, newest, acked uint64) *Machine {
	if kept.ofAnother(cfg.Target) {
		kept, acked = StoredState{Seq: max(kept.Seq, newest)}, max(kept.Seq, newest)
	}
	m := &Machine{StoredState: kept, cfg: cfg.withDefaults()}
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

// ofAnother reports whether the state was stored when the host was a different target. Its
// assignment numbers and reports are meaningless for the new target.
func (k StoredState) ofAnother(id fleet.TargetID) bool {
	return k.Accepted != nil && id != "" && k.Accepted.Target != "" && k.Accepted.Target != id
}

// Step handles an event and returns the actions to execute, in order.
func (m *Machine) Step(e Event, now Now) []Action {
	m.now, m.actions, m.changed = now, nil, false
	m.Seq = m.seq // reports of earlier steps are durable, reports of this step are not yet
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
		first = append(first, Persist{&m.StoredState})
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
	if m.Attempts.Open {
		m.Attempts.Open = false
		m.changed = true
	}
	m.interrupt()
	m.unapply("the agent started again")
	m.set(sweepTimer, m.cfg.Sweep)
	m.set(fullTimer, m.cfg.Full)
	if m.PreviousValues != nil {
		m.due[carryTimer] = m.now.Mono + carryFor
	}
	m.due[fetchTimer], m.due[retryTimer] = m.now.Mono, m.now.Mono
	if m.Attempts.Count > 1 { // repeated failures: the run could be the cause of the crashes
		m.backOff(retryTimer, m.Attempts.Count, firstRetry, m.cfg.Sweep)
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
		m.report(fleet.Event{Kind: fleet.Failed, Text: "the agent cannot watch all files, so it checks them every " + m.cfg.Blind.String(), Error: why})
	}
}

const never = time.Duration(math.MaxInt64)
