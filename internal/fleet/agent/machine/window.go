package machine

import (
	"time"

	"fettle.dev/fettle/internal/window"
)

// closed returns the reason why the agent must not begin to apply the accepted assignment now, or "". Repairs of
// the applied composition, and the first composition of a host, wait for no window.
func (m *core) closed() string {
	if m.Accepted == nil || len(m.Accepted.Windows) == 0 || m.Applied == nil ||
		sameComposition(m.Accepted, m.Applied) {
		return ""
	}
	w := &m.windows
	if o := orderOf(m.Accepted); w.of != o || w.zone != m.now.Zone || w.to == 0 {
		set, err := window.Compile(m.Accepted.Windows, m.now.Zone)
		if err != nil {
			w.to = 0
			return err.Error()
		}
		*w = windows{of: o, zone: m.now.Zone, set: set}
	}
	if m.now.Wall < w.from || m.now.Wall >= w.to {
		w.state = w.set.At(time.Unix(0, m.now.Wall))
		w.from, w.to = m.now.Wall, m.now.Wall+int64(time.Hour)
		if until := w.state.Until; !until.IsZero() {
			w.to = min(w.to, until.UnixNano())
		}
	}
	return w.state.Why
}

// untilWindow returns the time until the windows must be evaluated again. The clock can jump, so it is short.
func (m *core) untilWindow() time.Duration {
	return min(glance, max(time.Duration(m.windows.to-m.now.Wall), time.Millisecond))
}
