package local

import (
	"context"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"fettle.dev/fettle/internal/host"
)

const (
	// loopRestarts is how many automatic restarts since its last start make a unit suspect.
	loopRestarts = 3
	// loopWindow is the time that a unit must run to count as running. A unit whose configuration
	// sets a restart interval of at least this time works in intervals, and does not fail.
	loopWindow = time.Minute
	// loopPace is the longest time between two failures that belong to one loop.
	loopPace = 10 * time.Minute
	// failureMessage is the MESSAGE_ID of systemd's "Failed with result".
	failureMessage = "d9b373ed55a64feb8242e02dbe79a49c"
)

// restarting reports whether a unit is repeatedly restarted because it ends. systemd reports such a
// unit as active or activating most of the time.
func restarting(p props, now time.Duration) bool {
	return youngerThan(loopWindow, p, now)
}

// youngerThan reports whether systemd restarted a unit often enough for a loop, and started it less
// than the given time ago.
func youngerThan(window time.Duration, p props, now time.Duration) bool {
	restarts, _ := p["NRestarts"].(uint32)
	pause, _ := p["RestartUSec"].(uint64)
	begun, _ := p["InactiveExitTimestampMonotonic"].(uint64)
	switch active := p.text("ActiveState"); {
	case active != "active" && active != "activating" && active != "reloading":
		return false
	case restarts < loopRestarts || pause >= uint64(loopWindow/time.Microsecond):
		return false
	}
	return now-time.Duration(begun)*time.Microsecond < window
}

// failsSlowly reports whether a unit fails repeatedly and runs longer than loopWindow each time. It
// reads the journal, but only for a unit that can be in such a loop. Without a journal it is false.
func (u *units) failsSlowly(ctx context.Context, name string, p props) bool {
	if !youngerThan(2*loopPace, p, monotonic()) {
		return false
	}
	r, err := u.h.Run(ctx, host.Command{Argv: []string{"journalctl", "_PID=1", "UNIT=" + name,
		"MESSAGE_ID=" + failureMessage,
		"-n", strconv.Itoa(loopRestarts), "-o", "short-unix", "-q", "--no-pager"}, Timeout: 5 * time.Second})
	return err == nil && r.ExitCode == 0 && slowLoop(failures(string(r.Stdout)), time.Now())
}

// failures are the times of the lines of journalctl -o short-unix.
func failures(log string) []time.Time {
	var out []time.Time
	for _, line := range strings.Split(log, "\n") {
		at, _, _ := strings.Cut(line, " ")
		if seconds, err := strconv.ParseFloat(at, 64); err == nil {
			out = append(out, time.UnixMicro(int64(seconds*1e6)))
		}
	}
	return out
}

// slowLoop decides from the times of the last failures, in order, whether the unit will probably
// fail again: the failures are at most loopPace apart, and the unit has not yet run for twice the
// longest time between them.
func slowLoop(failed []time.Time, now time.Time) bool {
	if len(failed) < loopRestarts {
		return false
	}
	failed = failed[len(failed)-loopRestarts:]
	var pace time.Duration
	for i, at := range failed[1:] {
		pace = max(pace, at.Sub(failed[i]))
	}
	return pace <= loopPace && now.Sub(failed[len(failed)-1]) < 2*pace
}

// monotonic is the clock of systemd's monotonic timestamps.
func monotonic() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // then every start counts as recent
	}
	return time.Duration(t.Nano())
}
