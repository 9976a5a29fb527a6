package assign

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"fettle.dev/fettle/internal/fleet"
)

// registry contains the registered targets in the order of the computation, and their EnrolledDigest. They are the
// same for most computations.
type registry struct {
	targets  []fleet.Target
	enrolled string
}

func newRegistry(all []fleet.Target) registry {
	slices.SortFunc(all, func(a, b fleet.Target) int { return compareTargets(&a, &b) })
	return registry{all, EnrolledDigest(all)}
}

func compareTargets(a, b *fleet.Target) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}

// EnrolledDigest returns the digest of the active targets with their labels. See Contents.Enrolled
// and EnrolledText.
func EnrolledDigest(targets []fleet.Target) string {
	sum := sha256.Sum256(EnrolledText(targets))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// EnrolledText returns the content of fleet.EnrolledFile for the active targets.
func EnrolledText(targets []fleet.Target) []byte {
	labels := map[string]map[string]string{}
	for _, t := range targets {
		if t.Standing == fleet.Active {
			labels[t.Name] = t.Labels
		}
	}
	return fleet.Enrolled(labels)
}
