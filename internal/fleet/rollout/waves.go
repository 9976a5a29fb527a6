package rollout

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// Wave is one wave of a rollout.
type Wave struct {
	Name           string `json:"name"`
	MaxUnavailable Amount `json:"max_unavailable"`
	Bake           int64  `json:"bake,omitempty"` // seconds
	Members        []ID   `json:"members"`        // sorted
	// Selected reports that the strategy selects the members by name or label.
	Selected bool `json:"selected,omitempty"`
	// Gates are the conditions for the end of the wave.
	Gates []Gate `json:"gates,omitempty"`
}

// Distribute distributes members to the waves of a strategy. seed is the ID of the rollout: it decides
// which targets come first, so that these are not the same targets for each change. Waves without
// members are left out, unless they have gates that members of later waves must wait for. Each member is in exactly one
// wave.
func (s Strategy) Distribute(members []ID, seed string) []Wave {
	left := shuffled(members, seed)
	var out []Wave
	add := func(w Wave) {
		if len(w.Members) > 0 || len(w.Gates) > 0 && len(left) > 0 {
			slices.Sort(w.Members)
			out = append(out, w)
		}
	}
	for _, r := range s.Waves {
		w := Wave{Name: r.Name, MaxUnavailable: r.MaxUnavailable, Bake: r.Bake, Selected: r.Selected != nil, Gates: r.Gates}
		size := len(left)
		if r.Size != (Amount{}) {
			size = limit(r.Size, r.scoped(members))
		}
		left = slices.DeleteFunc(left, func(id ID) bool {
			take := len(w.Members) < size && (r.Selected == nil || r.Selected[id]) &&
				(r.Scope == nil || r.Scope[id])
			if take {
				w.Members = append(w.Members, id)
			}
			return take
		})
		add(w)
	}
	add(Wave{Name: "others", MaxUnavailable: Amount{Number: 25, Percent: true}, Members: left})
	return out
}

// scoped returns the number of members in the scope.
func (r WaveRule) scoped(members []ID) (n int) {
	for _, id := range members {
		if r.Scope == nil || r.Scope[id] {
			n++
		}
	}
	return n
}

// shuffled returns the members in the order of a hash.
func shuffled(members []ID, seed string) []ID {
	rank := make(map[ID][sha256.Size]byte, len(members))
	for _, id := range members {
		rank[id] = sha256.Sum256([]byte(seed + "\x00" + string(id)))
	}
	out := slices.Clone(members)
	slices.SortFunc(out, func(a, b ID) int { x, y := rank[a], rank[b]; return bytes.Compare(x[:], y[:]) })
	return out
}
