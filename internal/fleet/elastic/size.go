package elastic

import (
	"fmt"

	"fettle.dev/fettle/internal/duration"
	"fettle.dev/fettle/internal/fleet"
)

// maxShare bounds the load of one hub, so that a single hub that has a problem does not let the fleet grow.
const maxShare = 2

// share returns the load of a hub: the largest number in proportion to its limit. Unknown numbers do not count.
func (p Policy) share(l fleet.HubLoad) float64 {
	m := p.Limits
	return min(maxShare, max(0, float64(l.Connections)/float64(m.Connections), l.CPU/m.CPU,
		float64(l.EventLag)/float64(m.EventLag), float64(l.Handshakes)/float64(m.Handshakes)))
}

// load returns the sum and the mean of the loads of the good hubs that report it. complete is false if a hub that
// stays is not good or does not report its load.
func (v *view) load() (sum, mean float64, complete bool) {
	n := 0
	for _, h := range v.Hubs {
		if h.Load != nil && v.good(h) {
			sum += v.Policy.share(*h.Load)
			n += number(!v.leaves(h))
		}
	}
	return sum, sum / float64(max(n, 1)), n > 0 && n >= len(v.staying())
}

// smallest returns the minimum size: hubs that an operator joined stay.
func (v *view) smallest() int {
	return max(v.Policy.Min, len(v.which(func(h Hub) bool { return h.Fixed && !v.failed(h) })))
}

// larger and smaller return the next sizes. Two hubs cannot replace each other, so this size is only used if the policy
// requires it.
func (v *view) larger() int {
	if v.Size == 1 {
		return max(1, min(3, v.Policy.Max))
	}
	return max(v.Size, min(v.Size+1, v.Policy.Max))
}

func (v *view) smaller() int {
	if v.Size == 3 {
		return min(3, v.smallest())
	}
	return min(v.Size, max(v.Size-1, v.smallest()))
}

// resize adapts the size to the load, if the load was high or low for some time.
func (v *view) resize() {
	low := v.smallest()
	if v.Size == 0 {
		v.Size, v.SizeReason = max(1, len(v.Hubs)), "the fleet had this number of hubs"
	}
	if v.Size < low {
		v.Size, v.SizeReason = low, "operators joined hubs, or the policy requires this number"
	}
	if most := max(low, v.Policy.Max); v.Size > most {
		v.Size, v.SizeReason = most, "the policy does not allow more hubs"
	}
	sum, mean, complete := v.load()
	serving := len(v.which(func(h Hub) bool { return v.good(h) && !v.leaves(h) }))
	high := serving >= v.Size && mean >= v.Policy.High && v.larger() > v.Size
	idle := complete && v.smaller() < v.Size && sum < v.Policy.Low*float64(v.smaller())
	v.HighSince, v.LowSince = start(v.HighSince, high, v.now), start(v.LowSince, idle, v.now)
	switch {
	case since(v.HighSince, v.now, v.Policy.GrowAfter):
		v.Size, v.HighSince, v.LowSince = v.larger(), 0, 0
		v.SizeReason = fmt.Sprintf("the load of the hubs was at least %s for %s", percent(v.Policy.High),
			duration.Text(v.Policy.GrowAfter))
	case since(v.LowSince, v.now, v.Policy.ShrinkAfter):
		v.Size, v.HighSince, v.LowSince = v.smaller(), 0, 0
		v.SizeReason = fmt.Sprintf("for %s, the load would have been less than %s with %s",
			duration.Text(v.Policy.ShrinkAfter), percent(v.Policy.Low), countHubs(v.Size))
	}
}

// start returns the start of a condition: the earlier start if it held before, now if it begins, 0 if it does not hold.
func start(before int64, holds bool, now int64) int64 {
	switch {
	case !holds:
		return 0
	case before != 0:
		return before
	}
	return now
}
