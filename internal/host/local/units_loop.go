package local

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// loopRestarts is how many automatic restarts since its last start make a unit suspect.
	loopRestarts = 3
	// loopWindow is the time that a unit must run to count as running. A unit whose configuration
	// sets a restart interval of at least this time works in intervals, and does not fail.
	loopWindow = time.Minute
)

// restarting reports whether a unit is repeatedly restarted because it ends. systemd reports such a
// unit as active or activating most of the time.
func restarting(p props, now time.Duration) bool {
	restarts, _ := p["NRestarts"].(uint32)
	pause, _ := p["RestartUSec"].(uint64)
	begun, _ := p["InactiveExitTimestampMonotonic"].(uint64)
	switch active := p.text("ActiveState"); {
	case active != "active" && active != "activating" && active != "reloading":
		return false
	case restarts < loopRestarts || pause >= uint64(loopWindow/time.Microsecond):
		return false
	}
	return now-time.Duration(begun)*time.Microsecond < loopWindow
}

// monotonic is the clock of systemd's monotonic timestamps.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // then every start counts as recent
	}
	return time.Duration(t.Nano())
}
