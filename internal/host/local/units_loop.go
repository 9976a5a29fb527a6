package local

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// loopRestarts is how many automatic restarts since its last start make a unit suspect.
	loopRestarts = 3
	// loopWindow is how long a unit has to stay up to count as running. A unit whose restarts
	// are at least so far apart by its own configuration works in intervals, and does not fail.
	loopWindow = time.Minute
)

// restarting tells whether a unit is started again and again because it does not stay up.
// Most of the time systemd calls such a unit active or activating.
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
