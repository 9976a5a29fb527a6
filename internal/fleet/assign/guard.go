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

// set counts the targets of a module before and after the computation.
type set struct {
	was, now int
	lost     []*decision
	left     []*decision // targets that have it afterwards
}

// guard blocks the removal of a module from too many targets. A blocked target can make another set
// shrink too far, so guard repeats until nothing changes.
func (c *computation) guard() {
	seen := map[string]bool{}
	for again := c.removes(); again; {
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
				c.alarms.addAll(Alarm{Kind: MassRemoval, Module: module, Digest: digest,
					Text: fmt.Sprintf("%s would be removed from %d of %d targets, so they keep their assignments. To approve this, run: fettle alarm approve %s", module, len(
						s.lost), s.was, digest)}, ids(s.lost))
			}
			for _, d := range s.lost {
				frozen := d.frozen
				d.keep(fmt.Sprintf("the removal of %s from %d of %d targets waits for approval", module, len(s.lost), s.was))
				d.want.Frozen = frozen
			}
		}
	}
}

// removes reports whether a module is removed from a target.
func (c *computation) removes() bool {
	known := map[carriedKey]bool{}
	for _, d := range c.all {
		if d.want == nil || d.was == nil || len(d.was.Modules) == 0 {
			continue
		}
		key := carriedKey{was: &d.was.Modules[0], had: len(d.was.Modules), wanted: len(d.want.Modules)}
		if key.wanted > 0 {
			key.want = &d.want.Modules[0]
		}
		removed, ok := known[key]
		if !ok {
			removed = lacks(d.want.Modules, d.was.Modules)
			known[key] = removed
		}
		if removed {
			return true
		}
	}
	return false
}

// lacks reports whether a list does not have a module of another list.
func lacks(list, of []fleet.Assigned) bool {
	for i, m := range of {
		if find(list, m.Module, i) == nil {
			return true
		}
	}
	return false
}

// sets returns the set of each module. It ignores removals by a user, and removals because a pin of
// the whole target begins or ends. It also ignores a module that a target only has because the
// target is frozen, pinned or blocked: otherwise one such target would hide that the module is
// removed from all other targets.
func (c *computation) sets() map[string]*set {
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
		if d.want == nil || d.target.Standing != fleet.Active {
			continue
		}
		for i, m := range d.want.Modules {
			s := of(m.Module)
			if d.asked != nil && find(d.asked.Modules, m.Module, i) != nil {
				s.now++
				s.left = append(s.left, d)
			}
		}
		if d.was == nil || d.was.Withdrawn != "" || d.was.Root.Rollout == PinRollout || d.want.Root.Rollout == PinRollout {
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

// shrinks reports whether a set becomes empty, or loses more than a tenth and more than five
// targets.
func (s *set) shrinks() bool {
	return len(s.lost) > 0 && (s.now == 0 || len(s.lost) > max(s.was/10, 5))
}

// approved reports whether a user has approved a change recently.
func (c *computation) approved(digest string) bool {
	for _, a := range c.in.Approvals {
		if a.Digest == digest && a.At <= c.in.Now && c.in.Now < a.At+ApprovalValidity {
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

// setDigest returns the digest of a change for an approval.
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
