package leader

import (
	"errors"
	"fmt"
	"time"

	"fettle.dev/fettle/internal/fleet"
	"fettle.dev/fettle/internal/fleet/hub/rollouts"
)

// While a rollout is open, a leader decides again at least every rolloutInterval. Because of reports, it decides at
// most every gatherTime, and less often if a decision takes long: it uses about 1/costFactor of the time for decisions,
// except that it never waits longer than rolloutInterval.
const (
	rolloutInterval = 2 * time.Second
	gatherTime      = 250 * time.Millisecond
	costFactor      = 40
)

// wait returns the time from a report to the decision. Further reports arrive meanwhile.
func (d *deliveries) wait() time.Duration {
	return min(max(gatherTime, costFactor*d.cost), rolloutInterval)
}

// errOutdated means that another hub changed the rollouts first. The leader decides again at once.
var errOutdated = errors.New("another hub changed the rollouts")

// deliveries is the state of a term that rollouts need.
type deliveries struct {
	began    int64 // since when it observes the targets without interruption, seconds since 1970
	clock    clock
	jump     int64 // of its clock: the last one, seconds since 1970
	observed rollouts.Observed
	cost     time.Duration // of the last decision and computation
	// changed is closed when a target reports. It is nil while no rollout is open.
	changed <-chan struct{}
	// away are targets without contact, for which the leader decides again when they have contact.
	away []fleet.TargetID
	due  time.Time // of the next decision, if none of away has contact before
}

// readClock begins to observe the targets again if the clock has jumped, as a hub that begins to lead. So a jump does
// not count as time in which a target was ready or silent.
func (d *deliveries) readClock(now time.Time, warn func(string)) {
	jump := d.clock.read(now)
	if jump == 0 {
		return
	}
	warn(fmt.Sprintf("the clock of this hub jumped by %s: times of open rollouts begin again", jump.Round(time.Second)))
	d.jump, d.began = now.Unix(), now.Unix()
	d.observed.Restart()
}
