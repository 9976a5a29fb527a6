package machine

import (
	"hash/fnv"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// New makes a state machine from the stored state. newest is the number of the newest report in the
// outbox, acked the number of the newest report that was dropped from it. Both are 0 for an empty
// outbox.
func New(cfg Config, kept StoredState, newest, acked uint64) *Machine {
	if kept.ofAnother(cfg.Target) {
		kept, acked = StoredState{Seq: max(kept.Seq, newest)}, max(kept.Seq, newest)
	}
	m := newMachine(&core{StoredState: kept, cfg: cfg.withDefaults()})
	m.Format = Format
	if m.Modules == nil {
		m.Modules = map[string]Module{}
	}
	if newest == 0 {
		newest, acked = m.Seq, m.Seq
	}
	m.seq, m.reports.acked = newest, acked
	for i := range m.due {
		m.due[i] = never
	}
	m.due[lockTimer], m.due[actTimer], m.due[checkTimer] = 0, 0, 0
	h := fnv.New64a()
	_, _ = h.Write([]byte(string(cfg.Target) + cfg.Boot))
	m.dice = h.Sum64()
	m.runs.started = true
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
	m.checks.readScopes()
	m.reports.placeChanged() // before zoneChanged, which sets zone
	m.reports.zoneChanged()
	m.checks.announce()
	m.reports.announce()
	m.reports.send()
	m.jobs.inform()
	m.exporter.publish()
	m.beat()
	m.renewal.renew()
	var first []Action
	if m.changed {
		first = append(first, Persist{&m.StoredState})
	}
	return append(append(first, m.actions...), Wake{m.wake()})
}

func (m *Machine) take(e Event) {
	switch e := e.(type) {
	case Started:
		m.begin()
	case Link:
		m.link(e.Up)
	case Offered:
		m.assignments.offered(e)
	case Forged:
		m.refuse(e.Why)
	case Answered:
		m.assignments.answered(e.Error)
	case Fetched:
		m.assignments.fetchEnded(e)
	case Drifted:
		m.runs.drifted(e)
	case Ran:
		m.runs.ran(e.Outcome)
	case Touched:
		m.runs.touched, m.due[thawTimer] = true, m.runs.thawSoon()
	case Watched:
		m.watched(e.Why)
	case Acked:
		m.reports.ackedReport(e)
	case Numbered:
		m.reports.numberedAt(e.Seq)
	case JobReceived:
		m.jobs.receiveJob(e.Job)
	case JobEnded:
		m.jobs.acted(e)
	case JobAnswerSent:
		m.jobs.informed(e)
	case ChecksChanged:
		m.checks.tested(e)
	case LocalFreeze:
		m.runs.frozenBy(e.Why, e.Until)
	case Certificate:
		m.renewal.cert, m.due[renewTimer], m.failures[renewTimer] = e, 0, 0
	case Newer:
		m.refuse(e.Why)
		m.replacing.asked = e.Binary
	case Prepared:
		m.binaries.prepared(e)
	case Published:
		m.exporter.published(e)
	case Renewed:
		m.renewal.renewed(e.Error)
	}
}

func (m *Machine) begin() {
	if m.Attempts.Open {
		m.Attempts.Open = false
		m.changed = true
	}
	m.jobs.interrupt()
	m.checks.begin()
	m.runs.unapply("the agent started again")
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
	m.binaries.beginBinary()
}

func (m *Machine) link(up bool) {
	m.up = up
	if !up {
		m.due[pollTimer], m.due[beatTimer], m.due[sendTimer] = never, never, never
		return
	}
	m.due[pollTimer], m.due[beatTimer], m.due[sendTimer], m.due[informTimer] = m.now.Mono, m.now.Mono, m.now.Mono,
		m.now.Mono
	m.due[fetchTimer] = min(m.due[fetchTimer], m.now.Mono)
	m.exporter.known, m.due[exportTimer] = nil, m.now.Mono
	clear(m.failures[:])
}

func (m *Machine) watched(why string) {
	if why == m.runs.blind {
		return
	}
	m.runs.blind = why
	if why != "" {
		m.due[sweepTimer] = min(m.due[sweepTimer], m.now.Mono+m.cfg.Blind)
		m.report(fleet.Event{Kind: fleet.Failed, Text: "the agent cannot watch all files, so it checks them every " +
			m.cfg.Blind.String(), Error: why})
	}
}

// Status returns the current status of the target.
func (m *Machine) Status() fleet.Status { return m.reports.status() }

// next starts all actions that are due and possible.
func (m *Machine) next() {
	m.assignments.poll()
	m.assignments.fetch()
	m.exporter.carried()
	if m.localFreeze != "" && m.isDue(thawTimer) {
		m.due[thawTimer] = m.now.Mono + thawAgain
		m.do(Thaw{})
	}
	if m.isDue(badTimer) {
		m.bad = order{}
	}
	m.binaries.binary()
	m.jobs.refuseTasks()
	m.jobs.act()
	if m.leave() || m.running != nil || m.jobs.isActing() {
		return
	}
	c, ok := m.compose()
	if ok && m.isDue(lockTimer) {
		if cause, by := m.runs.cause(c); cause != "" {
			m.runs.run(c, cause, by)
			return
		}
	}
	m.runs.adopt(c)
	m.runs.recordHeldModules(c)
}

// wake returns the time until the next action is due if no event occurs.
func (m *Machine) wake() time.Duration {
	next := never
	use := func(timer int, when bool) {
		if when {
			next = min(next, m.due[timer])
		}
	}
	use(pollTimer, m.up && !m.assignments.asking)
	use(beatTimer, m.up)
	use(sendTimer, m.up && !m.reports.sending && m.reports.acked < m.seq)
	use(actTimer, m.jobs.waitsToAct())
	use(informTimer, m.jobs.mustInform())
	use(checkTimer, m.checks.hasNews())
	use(fetchTimer, m.assignments.mustFetch())
	use(thawTimer, m.localFreeze != "")
	use(exportTimer, m.exporter.mustPublish())
	use(carryTimer, m.PreviousValues != nil)
	use(badTimer, m.bad != order{})
	_, digest := m.binaries.wantedBinary()
	use(binaryTimer, m.binaries.mayPrepare(digest))
	use(settleTimer, m.cfg.Binary.Arch != "" && !m.cfg.Binary.Trial && !m.replacing.settled)
	if m.running == nil && !m.jobs.isActing() {
		next = min(next, max(m.runs.nextRun(), m.due[lockTimer]))
	}
	if m.renewal.cert.Until > 0 && !m.renewal.renewing {
		next = min(next, max(m.due[renewTimer], m.now.Mono+min(time.Duration(max(m.renewal.renewAt()-m.now.Wall, 0)),
			time.Hour)))
	}
	if m.closed() != "" {
		next = min(next, m.now.Mono+m.untilWindow())
	}
	if at := m.jobs.nextExpiry(); at < never {
		next = min(next, at, m.now.Mono+glance)
	}
	if m.waitsForTime() {
		next = min(next, m.now.Mono+glance)
	}
	if next == never {
		return time.Hour
	}
	return max(next-m.now.Mono, time.Millisecond)
}

func (m *Machine) beat() {
	if !m.up || !m.isDue(beatTimer) {
		return
	}
	m.set(beatTimer, m.cfg.Beat)
	m.do(Beat{fleet.Beat{Have: m.have(), Ready: m.ready(), Clock: m.now.Wall}})
}

// leave ends the process between two runs. It returns true if no run may begin.
func (m *Machine) leave() (leaving bool) {
	r := &m.replacing
	if r.leaving && m.running == nil && m.jobs.acting == nil && !r.left {
		r.left = true
		m.do(Leave{})
	}
	return r.leaving
}
