package machine

import (
	"math"
	"time"
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
	checkTimer  // earliest report about checks of scopes
	timers
)

const (
	firstRetry = 30 * time.Second
	firstSend  = time.Second
	firstFetch = 5 * time.Second
	firstRenew = time.Minute
	longest    = 5 * time.Minute // maximum time between two attempts to reach a hub
	thawAgain  = 30 * time.Second
	// thawSoonest is the minimum time between two checks of a freeze.
	thawSoonest = time.Second
	lockAgain   = 20 * time.Second
	// glance is the maximum time to wait for a wall-clock time without checking the clock again,
	// because it can jump.
	glance = time.Minute
)

const never = time.Duration(math.MaxInt64)
