package machine

import (
	"fmt"
	"hash/fnv"
	"time"

	"fettle.dev/fettle/internal/fleet"
)

// The timers. Each is a moment of the clock that never jumps.
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
	lockTimer // no run before it
	badTimer  // what could not be compiled is not tried before it
	binaryTimer
	settleTimer
	exportTimer
	carryTimer
	actTimer    // no request is begun before it
	informTimer // a hub is told how one ended
	coolTimer   // what was touched beside something that failed is not looked at before it
	timers
)

const (
	firstRetry = 30 * time.Second
	firstSend  = time.Second
	firstFetch = 5 * time.Second
	firstRenew = time.Minute
	longest    = 5 * time.Minute // between two tries to reach a hub
	thawAgain  = 30 * time.Second
	lockAgain  = 20 * time.Second
	// glance bounds how long a moment of the wall clock is waited for at once, because
	// that clock may jump.
	glance = time.Minute
)

func (m *Machine) isDue(timer int) bool { return m.due[timer] <= m.now.Mono }

// set makes a timer go off after about d: a fifth earlier or later.
func (m *Machine) set(timer int, d time.Duration) {
	m.due[timer] = m.now.Mono + d - d/5 + time.Duration(m.random()%uint64(2*d/5+1))
}

// backOff makes it go off after a time that doubles with each try, with full jitter in
// its upper half.
func (m *Machine) backOff(timer, n int, first, most time.Duration) {
	d := first
	for i := 1; i < n && d < most; i++ {
		d *= 2
	}
	d = min(d, most)
	m.due[timer] = m.now.Mono + d/2 + time.Duration(m.random()%uint64(d/2+1))
}

// again is backOff for what has failed once more.
func (m *Machine) again(timer int, first, most time.Duration) {
	m.failures[timer]++
	m.backOff(timer, m.failures[timer], first, most)
}

// random is splitmix64: the same target has the same jitter in a test.
func (m *Machine) random() uint64 {
	m.dice += 0x9e3779b97f4a7c15
	z := m.dice
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// wake is how long nothing has to be done unless something happens.
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
	use(carryTimer, m.Carried != nil)
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

// nextRun is when there is a reason for a run if nothing happens.
func (m *Machine) nextRun() time.Duration {
	c, ok := m.compose()
	switch {
	case !ok:
		return never
	case m.frozen() != "":
		return min(m.due[sweepTimer], m.due[fullTimer])
	}
	if cause, _ := m.cause(c); cause != "" { // only the lock is in the way
		return m.now.Mono
	}
	switch {
	case m.tried(c) && m.fetching: // how that ends is an event
		return m.whenCool()
	case m.tried(c):
		return min(m.due[retryTimer], m.whenCool())
	}
	return min(m.due[sweepTimer], m.due[fullTimer])
}

// whenCool is when something that was touched beside a failure is looked at.
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

// renewAt is two thirds through the life of the certificate, and up to a twelfth later:
// targets that were enrolled together, or renewed when the hubs came back, part again.
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

// renewed tries again what failed: often while no hub is linked, since that may be for want
// of a certificate that has not ended.
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
