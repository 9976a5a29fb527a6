package assign

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// registry contains the registered targets with their environments, in the order of the computation, and their
// EnrolledDigest. They are the same for most computations.
type registry struct {
	stored   []fleet.Target // without environments
	in       map[fleet.TargetID]Environment
	targets  []fleet.Target
	enrolled string
}

func newRegistry(all []fleet.Target, in map[fleet.TargetID]Environment) registry {
	slices.SortFunc(all, func(a, b fleet.Target) int { return compareTargets(&a, &b) })
	targets := within(all, in)
	return registry{all, in, targets, EnrolledDigest(targets)}
}

// isOf reports whether the targets have these environments.
func (r registry) isOf(in map[fleet.TargetID]Environment) bool {
	return maps.EqualFunc(r.in, in, func(a, b Environment) bool { return a.ofTarget().Same(b.ofTarget()) })
}

func compareTargets(a, b *fleet.Target) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// EnrolledDigest returns the digest of the active targets with their labels and environments. See Contents.Enrolled
// and EnrolledText.
func EnrolledDigest(targets []fleet.Target) string {
	sum := sha256.Sum256(EnrolledText(targets))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// EnrolledText returns the content of fleet.EnrolledFile for the active targets.
func EnrolledText(targets []fleet.Target) []byte {
	return fleet.Enrolled(EnrolledOf(targets))
}

// EnrolledOf returns the active targets with their labels and environments.
func EnrolledOf(targets []fleet.Target) fleet.EnrolledTargets {
	out := fleet.EnrolledTargets{}
	for _, t := range targets {
		if t.Standing == fleet.Active {
			out[t.Name] = fleet.EnrolledTarget{Labels: t.Labels, Environment: t.Environment}
		}
	}
	return out
}
