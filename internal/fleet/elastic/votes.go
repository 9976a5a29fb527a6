package elastic

import (
	"fmt"
	"slices"
)

// odd returns the largest odd number up to n, at least 1.
func odd(n int) int { return max(1, n-1+n%2) }

// wantedVotes returns the number of voters, if enough hubs are good.
func (v *view) wantedVotes() int { return odd(min(v.Size, v.Policy.Voters)) }

// repairVotes gives votes to other hubs if their number must change, or if a voter failed.
func (v *view) repairVotes() (Change, bool) {
	now := v.voters()
	keep := v.which(func(h Hub) bool { return h.Voter && !v.failed(h) && !v.leaves(h) })
	relays := v.which(func(h Hub) bool { return !h.Voter && v.good(h) && !v.leaves(h) })
	n := odd(min(v.wantedVotes(), len(keep)+len(relays)))
	if len(now)%2 == 1 && len(now) <= v.wantedVotes() {
		n = max(n, len(now)) // while a hub is missing, the other votes stay
	}
	if len(keep)+len(relays) < n {
		return Change{}, false
	}
	next := v.elect(keep, relays, n)
	return v.vote(now, next)
}

// elect returns n voters: hubs that vote now, and then relays.
func (v *view) elect(keep, relays []Hub, n int) []Hub {
	keep, relays = slices.Clone(keep), slices.Clone(relays)
	for len(keep) > n {
		i := best(keep, func(i int) []int {
			h := keep[i]
			return []int{number(v.good(h)), crowding(without(keep, i)), number(h.Fixed), number(h.Name == v.Leader)}
		})
		keep = without(keep, i)
	}
	for len(keep) < n {
		i := best(relays, func(i int) []int {
			return []int{crowding(append(slices.Clone(keep), relays[i])), number(!relays[i].Fixed)}
		})
		keep, relays = append(keep, relays[i]), without(relays, i)
	}
	slices.SortFunc(keep, byName)
	return keep
}

// vote returns a change of voters, if it is one and if most of the next voters are good.
func (v *view) vote(now, next []Hub) (Change, bool) {
	good := 0
	for _, h := range next {
		good += number(v.good(h))
	}
	if slices.Equal(names(now), names(next)) || good <= len(next)/2 {
		return Change{}, false
	}
	return Change{Kind: Vote, Voters: names(next), Reason: v.whyVotes(now, next)}, true
}

// whyVotes returns the reason of a change of voters.
func (v *view) whyVotes(now, next []Hub) string {
	in, out := minus(next, now), minus(now, next)
	switch bad := slices.IndexFunc(out, v.failed); {
	case bad >= 0 && len(in) > 0:
		return fmt.Sprintf("%s %s, so %s votes instead", out[bad].Name, v.problem(out[bad]), join(names(in)))
	case bad >= 0:
		return fmt.Sprintf("%s %s, and the number of voters is odd", out[bad].Name, v.problem(out[bad]))
	case len(next) > len(now):
		return fmt.Sprintf("%s can vote, so %d of %d voters can fail", join(names(in)), len(next)/2, len(next))
	case len(next) < len(now):
		return fmt.Sprintf("%s, and the number of voters is odd", v.SizeReason)
	}
	return fmt.Sprintf("%s votes instead of %s, so that voters are spread over failure domains and stay", join(names(in)),
		join(names(out)))
}

// minus returns the hubs of a that are not in b.
func minus(a, b []Hub) (out []Hub) {
	for _, h := range a {
		if !slices.ContainsFunc(b, func(o Hub) bool { return o.Name == h.Name }) {
			out = append(out, h)
		}
	}
	return out
}

// spreadVotes exchanges one voter if the voters are then spread better over failure domains, or if a fixed hub votes
// instead of another one.
func (v *view) spreadVotes() (Change, bool) {
	now := v.voters()
	if len(now)%2 == 0 {
		return Change{}, false
	}
	cost := func(hubs []Hub) []int {
		loose := 0
		for _, h := range hubs {
			loose += number(!h.Fixed)
		}
		return []int{crowding(hubs), loose}
	}
	found := now
	for i := range now {
		for _, h := range v.which(func(h Hub) bool { return !h.Voter && v.good(h) && !v.leaves(h) }) {
			if next := append(without(now, i), h); slices.Compare(cost(next), cost(found)) < 0 {
				found = next
			}
		}
	}
	return v.vote(now, slices.SortedFunc(slices.Values(found), byName))
}
