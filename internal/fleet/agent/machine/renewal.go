package machine

import (
	"fmt"
	"hash/fnv"
	"time"
)

func (m *renewal) renew() {
	if m.cert.Until == 0 || m.renewing || !m.isDue(renewTimer) || m.now.Wall < m.renewAt() {
		return
	}
	m.renewing = true
	m.do(Renew{})
}

// renewAt returns the time of renewal, in ns since 1970: after two thirds of the validity, plus up
// to a twelfth. The addition depends on the target, so that many targets do not renew at the same
// time.
func (m *renewal) renewAt() int64 {
	life := m.cert.Until - m.cert.From
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, m.cfg.Target, m.cert.From)
	return (m.cert.From + life/3*2 + int64(h.Sum64()%uint64(max(life/12, 1)))) * int64(time.Second)
}

// renewed schedules the next attempt after a failure. Attempts are more frequent while the agent is
// not connected, because an expired certificate could be the reason.
func (m *renewal) renewed(err string) {
	m.renewing = false
	switch {
	case err == "":
	case m.up:
		m.again(renewTimer, firstRenew, time.Hour)
	default:
		m.again(renewTimer, firstRenew, longest)
	}
}
