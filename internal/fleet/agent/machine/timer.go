package machine

import (
	"fmt"
	"hash/fnv"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// The timers. Each value is a time of the monotonic clock.
const (
	pollTimer = iota
	sweepTimer
	fullTimer
	retryTimer
	fetchTimer
	sendTimer
	beatTimer
	renewTimer
	thawTimer
	lockTimer // earliest time of a run
	badTimer  // earliest time to compile a broken assignment again
	binaryTimer
	settleTimer
	exportTimer
	carryTimer
	actTimer    // earliest start of a job
	informTimer // earliest time to send the result of a job
	coolTimer   // earliest run because of changed objects while a composition fails
	timers
)

const (
	firstRetry = 30 * time.Second
	firstSend  = time.Second
	firstFetch = 5 * time.Second
	firstRenew = time.Minute
	longest    = 5 * time.Minute // maximum time between two attempts to reach a hub
	thawAgain  = 30 * time.Second
	lockAgain  = 20 * time.Second
	// glance is the maximum time to wait for a wall-clock time without checking the clock again,
	// because it can jump.
	glance = time.Minute
)

func (m *Machine) isDue(timer int) bool { return m.due[timer] <= m.now.Mono }

// set starts a timer with the duration d, randomly changed by at most a fifth.
func (m *Machine) set(timer int, d time.Duration) {
	m.due[timer] = m.now.Mono + d - d/5 + time.Duration(m.random()%uint64(2*d/5+1))
}

// backOff starts a timer with a duration that doubles with each attempt n, up to most. The upper
// half of the duration is random.
func (m *Machine) backOff(timer, n int, first, most time.Duration) {
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	d = min(d, most)
	m.due[timer] = m.now.Mono + d/2 + time.Duration(m.random()%uint64(d/2+1))
}

// again counts a failure and calls backOff.
func (m *Machine) again(timer int, first, most time.Duration) {
	m.failures[timer]++
	m.backOff(timer, m.failures[timer], first, most)
}

// random is splitmix64. The seed depends only on the target and the boot, so tests are
// reproducible.
func (m *Machine) random() uint64 {
	m.dice += 0x9e3779b97f4a7c15
	z := m.dice
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// wake returns the time until the next action is due if no event occurs.
func (m *Machine) wake() time.Duration {
	next := never
	use := func(timer int, when bool) {
		if when {
			next = min(next, m.due[timer])
		}
	}
	use(pollTimer, m.up && !m.asking)
	use(beatTimer, m.up)
	use(sendTimer, m.up && !m.sending && m.acked < m.seq)
	use(actTimer, m.waitsToAct())
	use(informTimer, m.mustInform())
	use(fetchTimer, m.mustFetch())
	use(thawTimer, m.localFreeze != "")
	use(exportTimer, m.mustPublish())
	use(carryTimer, m.PreviousValues != nil)
	use(badTimer, m.bad != order{})
	_, digest := m.wantedBinary()
	use(binaryTimer, m.mayPrepare(digest))
	use(settleTimer, m.cfg.Binary.Arch != "" && !m.cfg.Binary.Trial && !m.replacing.settled)
	if m.running == nil && !m.isActing() {
		next = min(next, max(m.nextRun(), m.due[lockTimer]))
	}
	if m.cert.Until > 0 && !m.renewing {
		next = min(next, max(m.due[renewTimer], m.now.Mono+min(time.Duration(max(m.renewAt()-m.now.Wall, 0)), time.Hour)))
	}
	if m.waitsForTime() {
		next = min(next, m.now.Mono+glance)
	}
	if next == never {
		return time.Hour
	}
	return max(next-m.now.Mono, time.Millisecond)
}

// nextRun returns the time of the next run if no event occurs.
func (m *Machine) nextRun() time.Duration {
	c, ok := m.compose()
	switch {
	case !ok:
		return never
	case m.frozen() != "":
		return min(m.due[sweepTimer], m.due[fullTimer])
	}
	if cause, _ := m.cause(c); cause != "" { // only lockTimer delays it
		return m.now.Mono
	}
	switch {
	case m.tried(c) && m.fetching: // the end of the fetch is an event
		return m.whenCool()
	case m.tried(c):
		return min(m.due[retryTimer], m.whenCool())
	}
	return min(m.due[sweepTimer], m.due[fullTimer])
}

// whenCool returns the earliest time at which changed objects cause a run of a failing composition.
func (m *Machine) whenCool() time.Duration {
	if m.touched {
		return m.due[coolTimer]
	}
	return never
}

func (m *Machine) beat() {
	if !m.up || !m.isDue(beatTimer) {
		return
	}
	m.set(beatTimer, m.cfg.Beat)
	m.do(Beat{fleet.Beat{Have: m.have(), Ready: m.ready(), Clock: m.now.Wall}})
}

func (m *Machine) have() fleet.Have {
	o := orderOf(m.Accepted)
	return fleet.Have{Epoch: o.epoch, Generation: o.generation, Seq: m.seq}
}

// renewAt returns the time of renewal, in ns since 1970: after two thirds of the validity, plus up
// to a twelfth. The addition depends on the target, so that many targets do not renew at the same
// time.
func (m *Machine) renewAt() int64 {
	life := m.cert.Until - m.cert.From
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, m.cfg.Target, m.cert.From)
	return (m.cert.From + life/3*2 + int64(h.Sum64()%uint64(max(life/12, 1)))) * int64(time.Second)
}

func (m *Machine) renew() {
	if m.cert.Until == 0 || m.renewing || !m.isDue(renewTimer) || m.now.Wall < m.renewAt() {
		return
	}
	m.renewing = true
	m.do(Renew{})
}

// renewed schedules the next attempt after a failure. Attempts are more frequent while the agent is
// not connected, because an expired certificate could be the reason.
func (m *Machine) renewed(err string) {
	m.renewing = false
	switch {
	case err == "":
	case m.up:
		m.again(renewTimer, firstRenew, time.Hour)
	default:
		m.again(renewTimer, firstRenew, longest)
	}
}
