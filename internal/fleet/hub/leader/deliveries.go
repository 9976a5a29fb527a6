package leader

import (
	"errors"
	"time"

	"fettle.dev/fettle/internal/fleet/hub/rollouts"
)

// While a rollout is open, a leader decides again at least every rolloutInterval, and at most every
// gatherTime because of reports.
const (
	rolloutInterval = 2 * time.Second
	gatherTime      = 250 * time.Millisecond
)

// errOutdated means that another hub changed the rollouts first. The leader decides again at once.
var errOutdated = errors.New("another hub changed the rollouts")

// deliveries is the state of a term that rollouts need.
type deliveries struct {
	began    int64 // seconds since 1970
	observed rollouts.Observed
	// changed is closed when a target reports. It is nil while no rollout is open.
	changed <-chan struct{}
}
