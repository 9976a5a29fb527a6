package elastic

import (
	"cmp"
	"slices"
)

// view is a state with an observation.
type view struct {
	State
	Input
	now int64
}

// observe records which hubs are good now. A hub that it sees for the first time has time to become good.
func (v *view) observe() {
	for _, h := range v.Hubs {
		if _, known := v.Good[h.Name]; !known || v.good(h) {
			v.Good[h.Name] = v.now
		}
	}
}

func (v *view) hub(name string) (h Hub, there bool) {
	i := slices.IndexFunc(v.Hubs, func(h Hub) bool { return h.Name == name })
	if i < 0 {
		return Hub{}, false
	}
	return v.Hubs[i], true
}

// fresh reports whether a hub answers.
func (v *view) fresh(h Hub) bool { return h.Silence >= 0 && h.Silence < FreshFor }

// good reports whether a hub can serve agents and store data now.
func (v *view) good(h Hub) bool { return v.fresh(h) && h.Ready && v.roomy(h) }

// roomy reports whether a hub has enough free disk. An unknown number is enough.
func (v *view) roomy(h Hub) bool {
	return h.Load == nil || h.Load.DiskFree < 0 || h.Load.DiskFree >= v.Policy.DiskFree
}

// failed reports whether a hub was not good for FailAfter.
func (v *view) failed(h Hub) bool {
	return since(max(v.Good[h.Name], v.Watching), v.now, v.Policy.FailAfter)
}

// leaves reports whether a hub is leaving.
func (v *view) leaves(h Hub) bool {
	return h.Name == v.Pending.Name && (v.Pending.Kind == Empty || v.Pending.Kind == Retire || v.Pending.Kind == Withdraw)
}

// which returns the hubs with a property, sorted by name.
func (v *view) which(is func(Hub) bool) []Hub {
	out := make([]Hub, 0, len(v.Hubs))
	for _, h := range v.Hubs {
		if is(h) {
			out = append(out, h)
		}
	}
	return out
}

func byName(a, b Hub) int { return cmp.Compare(a.Name, b.Name) }

func (v *view) voters() []Hub { return v.which(func(h Hub) bool { return h.Voter }) }

// staying returns the hubs that did not fail and are not leaving.
func (v *view) staying() []Hub {
	return v.which(func(h Hub) bool { return !v.failed(h) && !v.leaves(h) })
}

// names returns the names of hubs, in their order.
func names(hubs []Hub) (out []string) {
	for _, h := range hubs {
		out = append(out, h.Name)
	}
	return out
}

// inDomain returns the number of hubs in a failure domain.
func inDomain(hubs []Hub, domain string) (n int) {
	for _, h := range hubs {
		if h.Domain == domain {
			n++
		}
	}
	return n
}

// crowding is smaller if hubs are better spread over failure domains: the sum of the squares of the numbers of hubs.
func crowding(hubs []Hub) (sum int) {
	for _, h := range hubs {
		sum += inDomain(hubs, h.Domain)
	}
	return sum
}
