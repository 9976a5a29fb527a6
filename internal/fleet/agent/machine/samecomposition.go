package machine

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"fettle.dev/fettle/internal/exported"
	"fettle.dev/fettle/internal/fleet"
)

// sameComposition reports whether two compositions have the same content, independently of their
// numbers. The result is the same as a comparison of keyOf, which is too slow for each step.
func sameComposition(a, b *fleet.Assignment) bool {
	if a == nil || b == nil || a == b {
		return a == b
	}
	return a.Format == b.Format && a.Target == b.Target && a.Name == b.Name && a.Fleet == b.Fleet &&
		maps.Equal(a.Labels, b.Labels) && sameContent(a.Root, b.Root) && slices.Equal(a.Withheld, b.Withheld) &&
		a.Environment.Same(b.Environment) && slices.EqualFunc(a.Modules, b.Modules, sameContent) &&
		exported.Same(a.Exported, b.Exported)
}

func sameContent(a, b fleet.Assigned) bool { return a.Module == b.Module && a.Bundle == b.Bundle }

// keyOf returns a text that identifies the content of a composition, independently of its number.
func keyOf(a *fleet.Assignment) string {
	if a == nil {
		return ""
	}
	b := *a
	b.Epoch, b.Generation, b.Issued, b.Frozen, b.Withdrawn, b.Binary = 0, 0, 0, "", "", nil
	b.Windows, b.TestsFor = nil, nil
	b.Modules = nil
	bare := func(as fleet.Assigned) fleet.Assigned {
		return fleet.Assigned{Module: as.Module, Bundle: as.Bundle}
	}
	b.Root = bare(a.Root)
	for _, as := range a.Modules {
		b.Modules = append(b.Modules, bare(as))
	}
	sum := sha256.Sum256(b.Marshal())
	return hex.EncodeToString(sum[:])
}
