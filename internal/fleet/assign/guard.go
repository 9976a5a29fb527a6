package assign

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"fettle.dev/fettle/internal/fleet"
)

// set is who has a module, and who is to have it.
type set struct {
	was, now int
	lost     []*decision
	left     []*decision // those that have it afterwards
}

// guard keeps targets that would lose a module together with many others. To keep one
// may leave another set short, so it looks again until nothing more is kept.
func (c *computing) guard() {
	seen := map[string]bool{}
	for again := true; again; {
		again = false
		sets := c.sets()
		for _, module := range slices.Sorted(maps.Keys(sets)) {
			s := sets[module]
			if !s.shrinks() {
				continue
			}
			digest := setDigest(module, ids(s.left), ids(s.lost))
			if c.approved(digest) {
				continue
			}
			again = true
			if !seen[module] {
				seen[module] = true
				c.alarms.addAll(Alarm{Kind: Suspect, Module: module, Digest: digest,
					Text: fmt.Sprintf("%s would be taken from %d of %d targets, which keep all that they have. If it is meant, approve %s.", module, len(s.lost), s.was, digest)}, ids(s.lost))
			}
			for _, d := range s.lost {
				frozen := d.frozen
				d.keep(fmt.Sprintf("%s would be taken from %d of %d targets, which nobody has approved", module, len(s.lost), s.was))
				d.want.Frozen = frozen
			}
		}
	}
}

// sets are the modules that are given to targets now. What a target loses
// because a person took it out, or because a pin of all of it begins or ends, does not
// count. Nor does it count that a target has a module which the branch does not say of
// it, because it is frozen, pinned or kept: one such target would hide that the module is
// taken from all others.
func (c *computing) sets() map[string]*set {
	sets := map[string]*set{}
	of := func(module string) *set {
		s := sets[module]
		if s == nil {
			s = &set{}
			sets[module] = s
		}
		return s
	}
	for _, d := range c.all {
		if d.want == nil || d.want.Withdrawn != "" || d.target.Standing != fleet.Active {
			continue
		}
		for i, m := range d.want.Modules {
			s := of(m.Module)
			if d.asked != nil && find(d.asked.Modules, m.Module, i) != nil {
				s.now++
				s.left = append(s.left, d)
			}
		}
		if d.was == nil || d.was.Withdrawn != "" || d.was.Top.Rollout == PinRollout || d.want.Top.Rollout == PinRollout {
			continue
		}
		for i, m := range d.was.Modules {
			s := of(m.Module)
			s.was++
			if find(d.want.Modules, m.Module, i) == nil {
				s.lost = append(s.lost, d)
			}
		}
	}
	return sets
}

// shrinks tells whether a set becomes empty, or loses more than a tenth and more than
// five.
func (s *set) shrinks() bool {
	return len(s.lost) > 0 && (s.now == 0 || len(s.lost) > max(s.was/10, 5))
}

// approved tells whether somebody approved a set, not long ago.
func (c *computing) approved(digest string) bool {
	for _, a := range c.in.Approvals {
		if a.Digest == digest && a.At <= c.in.Now && c.in.Now < a.At+ApprovalHolds {
			return true
		}
	}
	return false
}

func ids(list []*decision) []fleet.TargetID {
	out := make([]fleet.TargetID, len(list))
	for i, d := range list {
		out[i] = d.target.ID
	}
	slices.Sort(out)
	return out
}

// setDigest names sets of targets for an approval.
func setDigest(what string, sets ...[]fleet.TargetID) string {
	var b strings.Builder
	b.WriteString(what)
	for _, s := range sets {
		b.WriteByte('\n')
		for _, id := range s {
			b.WriteString(string(id))
			b.WriteByte(' ')
		}
	}
	sum := sha256.Sum256([]byte(b.String()))
	return "sha256:" + hex.EncodeToString(sum[:])
}
